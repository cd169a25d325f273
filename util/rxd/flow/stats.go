package flow

// Stats has the counts of a flow and the state of its path.
type Stats struct {
	Counts

	// The path at the time of the call.
	SRTT, MinRTT int64 // nanoseconds; 0: not known
	Window       int   // congestion window, bytes
	InFlight     int   // bytes
}

// Counts has the counts of a flow since Init. util/rxd reports their sums as metrics.
type Counts struct {
	Sent          uint64 // datagrams with new data
	Retransmitted uint64 // datagrams with data that was sent before
	Received      uint64 // datagrams
	Lost          uint32 // segments marked as lost
	Timeouts      uint32 // retransmission time-outs
	TailProbes    uint32 // tail loss probes (RFC 8985)
	Spurious      uint32 // retransmissions of segments that had arrived
	Duplicates    uint32 // datagrams without new data
	Dropped       uint32 // datagrams beyond the window or the budget
	Nonsense      uint32 // datagrams that break the protocol
	Cuts          uint32 // reductions of the congestion window
	BlackHoles    uint32 // reductions of the datagram size because long datagrams were lost
}

// Add adds o to c.
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
