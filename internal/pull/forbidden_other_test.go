//go:build !linux

package pull

import "testing"

// forbidden is not reached where nothing is pulled at all.
func forbidden(t *testing.T, _ int, _ uint64) { t.Fatal("Pull failed where it is not offered") }
