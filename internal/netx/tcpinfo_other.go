//go:build !linux || fabricbasic

package netx

// PathOf fails: only Linux reports it.
func PathOf(FD) (TCPPath, bool) { return TCPPath{}, false }
