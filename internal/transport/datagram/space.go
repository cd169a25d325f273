package datagram

// Spaced is a Port that knows its network name space.
type Spaced interface {
	// Space is a number of it, while the system runs; 0 where the system does not tell. Locked.
	Space() uint64
}
