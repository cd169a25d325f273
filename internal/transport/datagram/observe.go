package datagram

import "gofabric/internal/telemetry"

// Observe adds the counts to those of telemetry.
func (s *Stats) Observe(c telemetry.Counts) {
	for name, n := range map[string]uint64{
		"datagrams.sent": s.SentDatagrams, "datagrams.received": s.ReceivedDatagrams,
		"datagram_bytes.sent": s.SentBytes, "datagram_bytes.received": s.ReceivedBytes,
		"bypassed.xdp_sent": s.BypassSent, "bypassed.xdp_received": s.BypassReceived,
		"bypassed.memory_sent": s.MemorySent, "bypassed.memory_received": s.MemoryReceived,
		"drops.send_error": s.SendErrors, "drops.overflow": s.Overflows, "drops.truncated": s.Truncated, "drops.bypass_refused": s.BypassRefused,
	} {
		if n > 0 {
			c[name] += n
		}
	}
}
