//go:build !linux

package netx

import "runtime"

// Yield gives the processor to other goroutines.
func Yield() { runtime.Gosched() }
