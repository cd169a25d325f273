package netx

import "time"

// TCPPath is what the kernel knows of a connection's way (tcp(7), TCP_INFO).
type TCPPath struct {
	RTT, MinRTT      time.Duration // 0: not known
	Window, InFlight int           // bytes
	Unsent           int           // bytes that wait in the kernel, for room in the window or at the peer
	Acked            uint64        // bytes that the peer's kernel has acknowledged
	TCPCounts
}

// TCPCounts is what the kernel counts of a connection.
type TCPCounts struct {
	Sent, Received uint64 // segments with data
	Retransmitted  uint64 // of those sent, and requests to connect
	Spurious       uint64 // of those retransmitted: they had come already, says the peer (RFC 2883)
}

// grow adds to c how far the kernel's counters have come between two looks. They have 32 bits there, and wrap.
func (c *TCPCounts) grow(was, is *TCPCounts) {
	c.Sent += uint64(uint32(is.Sent - was.Sent))
	c.Received += uint64(uint32(is.Received - was.Received))
	c.Retransmitted += uint64(uint32(is.Retransmitted - was.Retransmitted))
	c.Spurious += uint64(uint32(is.Spurious - was.Spurious))
}
