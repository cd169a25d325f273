package netx

import "time"

// TCPPath is what the kernel knows of a connection's way (tcp(7), TCP_INFO).
type TCPPath struct {
	RTT, MinRTT      time.Duration
	Window, InFlight int    // bytes
	Retransmitted    uint64 // segments, since the connection began
}
