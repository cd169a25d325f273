//go:build !linux

package netx

import "runtime"

// Yield lets others have the processor first.
func Yield() { runtime.Gosched() }
