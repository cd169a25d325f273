//go:build !linux

package daemon

// withUmask runs f with another umask.
func withUmask(mask int, f func()) { withProcessUmask(mask, f) }
