//go:build !fabricbasic

package netx

import (
	"time"

	"golang.org/x/sys/unix"
)

// PathOf asks the kernel about a TCP connection; false if it is none, or nothing is known yet.
func PathOf(fd FD) (p TCPPath, ok bool) {
	i, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || i.Rtt == 0 {
		return p, false
	}
	p = TCPPath{
		RTT: time.Duration(i.Rtt) * time.Microsecond, MinRTT: time.Duration(i.Min_rtt) * time.Microsecond,
		Window: int(i.Snd_cwnd) * int(i.Snd_mss), InFlight: int(i.Unacked) * int(i.Snd_mss), Retransmitted: uint64(i.Total_retrans),
	}
	if i.Min_rtt == ^uint32(0) { // not known (include/linux/tcp.h)
		p.MinRTT = 0
	}
	return p, true
}
