package netx

import "time"

// TCPPath is the kernel's state of a TCP connection (tcp(7), TCP_INFO).
type TCPPath struct {
	RTT, MinRTT      time.Duration // 0 if unknown
	Window, InFlight int           // bytes
	Unsent           int           // bytes in the kernel's send buffer that were not sent yet
	Acked            uint64        // bytes that the peer's kernel has acknowledged
	TCPCounts
}

// TCPCounts are the kernel's counters of a connection.
type TCPCounts struct {
	Sent, Received uint64 // segments with data
	Retransmitted  uint64 // retransmitted segments, and repeated SYNs
	Spurious       uint64 // of those retransmitted, the ones that the peer reported as duplicates (RFC 2883)
}

// grow adds to c the increase of the kernel's counters between two queries. The kernel's counters have 32 bits and
// wrap.
func (c *TCPCounts) grow(was, is *TCPCounts) {
	c.Sent += uint64(uint32(is.Sent - was.Sent))
	c.Received += uint64(uint32(is.Received - was.Received))
	c.Retransmitted += uint64(uint32(is.Retransmitted - was.Retransmitted))
	c.Spurious += uint64(uint32(is.Spurious - was.Spurious))
}
