package daemon

// Config is what can be set by file, flags and environment, in this order, the later over the earlier.
type Config struct {
	Dir string // folder of the sockets
}
