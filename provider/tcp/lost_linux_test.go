package tcp

import (
	"net/netip"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/internal/netx"
)

// TestRetransmitMin: TCP over a network has a short minimum retransmission time-out. TCP over loopback keeps the
// system's.
func TestRetransmitMin(t *testing.T) {
	_, d, _ := fixture(t, core.EPTypeMsg, nil)
	host, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	lo := netip.MustParseAddr("127.0.0.1")
	least := func(local, peer netip.Addr) time.Duration {
		t.Helper()
		fd, err := netx.StreamSocket(unix.AF_INET)
		must(t, err)
		defer netx.Close(fd)
		must(t, configure(fd, d.drv.s, 0, local, peer))
		us, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_RTO_MIN_US)
		if err == syscall.ENOPROTOOPT {
			t.Skip("the kernel lacks TCP_RTO_MIN_US, an option of Linux 6.16")
		}
		must(t, err)
		return time.Duration(us) * time.Microsecond
	}
	if got := least(host, other); got != retransmitMin {
		t.Errorf("the minimum retransmission time-out is %v, want %v", got, retransmitMin)
	}
	if got := least(lo, lo); got == retransmitMin {
		t.Errorf("on loopback the minimum retransmission time-out is %v, want the system's", got)
	}
}
