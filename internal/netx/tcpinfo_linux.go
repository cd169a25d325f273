//go:build !fabricbasic

package netx

import (
	"time"

	"golang.org/x/sys/unix"
)

// PathOf queries a TCP connection. It returns false if fd is none.
func PathOf(fd FD) (p TCPPath, ok bool) {
	i, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return p, false
	}
	p.TCPCounts = TCPCounts{Sent: uint64(i.Data_segs_out), Received: uint64(i.Data_segs_in), Retransmitted: uint64(i.Total_retrans), Spurious: uint64(i.Dsack_dups)}
	p.Unsent, p.Acked = int(i.Notsent_bytes), i.Bytes_acked
	if i.Rtt == 0 {
		return p, true
	}
	p.RTT, p.Window, p.InFlight = time.Duration(i.Rtt)*time.Microsecond, int(i.Snd_cwnd)*int(i.Snd_mss), int(i.Unacked)*int(i.Snd_mss)
	if i.Min_rtt != ^uint32(0) { // known (include/linux/tcp.h)
		p.MinRTT = time.Duration(i.Min_rtt) * time.Microsecond
	}
	return p, true
}
