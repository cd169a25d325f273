//go:build !linux

package xdp

// Probe says that there is no AF_XDP here.
func Probe(name string) error { return &Error{Interface: name, Reason: OtherSystem} }
