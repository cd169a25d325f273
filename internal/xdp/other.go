//go:build !linux

package xdp

// Config is empty on this system.
type Config struct{}

// Probe returns an error: there is no AF_XDP on this system.
func Probe(name string, _ Config) error { return &Error{Interface: name, Reason: OtherSystem} }
