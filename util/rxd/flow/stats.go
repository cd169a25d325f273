package flow

// Stats is what a flow did, and what it knows of the path.
type Stats struct {
	Counts

	SRTT, MinRTT int64 // nanoseconds, 0 unknown
	Window       int   // bytes that may be in flight
	InFlight     int   // bytes
}

// Counts counts what a flow did.
type Counts struct {
	Sent          uint64 // datagrams with new data
	Retransmitted uint64 // datagrams with data sent before
	Received      uint64 // datagrams
	Lost          uint32 // segments taken for lost
	Timeouts      uint32 // retransmission time-outs
	TailProbes    uint32
	Spurious      uint32 // retransmissions that were not needed
	Duplicates    uint32 // datagrams with nothing new
	Dropped       uint32 // datagrams that window or budget had no room for
	Nonsense      uint32 // datagrams that no honest peer sends
	Cuts          uint32 // times that the window was made smaller
	BlackHoles    uint32 // times that datagrams were made shorter, because the path lost long ones
}

// Add adds o.
func (c *Counts) Add(o *Counts) {
	c.Sent += o.Sent
	c.Retransmitted += o.Retransmitted
	c.Received += o.Received
	c.Lost += o.Lost
	c.Timeouts += o.Timeouts
	c.TailProbes += o.TailProbes
	c.Spurious += o.Spurious
	c.Duplicates += o.Duplicates
	c.Dropped += o.Dropped
	c.Nonsense += o.Nonsense
	c.Cuts += o.Cuts
	c.BlackHoles += o.BlackHoles
}
