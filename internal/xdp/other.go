//go:build !linux

package xdp

// Config is nothing here.
type Config struct{}

// Probe says that there is no AF_XDP here.
func Probe(name string, _ Config) error { return &Error{Interface: name, Reason: OtherSystem} }
