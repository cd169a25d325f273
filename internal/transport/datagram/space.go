package datagram

// Spaced is a Port that knows its network namespace (network_namespaces(7)).
type Spaced interface {
	// Space returns a number that identifies the namespace until the system restarts. 0: not known. Locked.
	Space() uint64
}
