package fabric

import (
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/cmd/fabricd/internal/emulate/link"
)

// BenchmarkSwitch measures the throughput of one switch. One node sends datagrams to another as fast as it can, and
// b.N counts those that arrive. The sender has its kernel cut large writes into datagrams (UDP_SEGMENT), which
// leaves more processor time to the fabric.
func BenchmarkSwitch(b *testing.B) {
	for _, c := range []struct {
		name   string
		size   int
		faults link.Faults
	}{
		{"64", 64, link.Faults{}},
		{"1472", 1472, link.Faults{}},
		{"64 faults", 64, link.Faults{Loss: 0.01, Delay: time.Millisecond, Rate: 10e9}},
		{"1472 faults", 1472, link.Faults{Loss: 0.01, Delay: time.Millisecond, Rate: 10e9}},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := open(b, "nodes: [n1, n2]\nswitches: [s]\nlinks: [{between: [n1, s]}, {between: [s, n2]}]")
			change(b, f, "n1-s", c.faults)
			from, to := socket(b, f, "n1"), socket(b, f, "n2")
			dest := addressOf(f, "n2", to)
			dest4 := &unix.SockaddrInet4{Port: int(dest.Port()), Addr: dest.Addr().As4()}
			stop := make(chan struct{})
			sent := make(chan error, 1)
			go func() { sent <- flood(from, dest4, c.size, stop) }()
			got := 0
			buf := make([]byte, 2048)
			_ = to.SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := to.Read(buf); err != nil { // the first datagram arrives
				b.Fatal(err)
			}
			before := find(f, "n1-s").AB.Stats
			start := time.Now()
			for b.Loop() {
				if _, err := to.Read(buf); err != nil {
					b.Fatal(err)
				}
				got++
			}
			took := time.Since(start).Seconds()
			after := find(f, "n1-s").AB.Stats
			close(stop)
			if err := <-sent; err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(got)/took, "frames/s")
			b.ReportMetric(float64(got*(c.size+42)*8)/took/1e9, "Gbit/s")
			b.ReportMetric(float64(after.Frames-before.Frames)/took, "entered/s")
		})
	}
}

// flood sends datagrams of size bytes until stop is closed.
func flood(c *net.UDPConn, to unix.Sockaddr, size int, stop <-chan struct{}) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	many := min(40, 60000/size)
	buf := make([]byte, many*size)
	var inner error
	err = raw.Control(func(fd uintptr) {
		if inner = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, size); inner != nil {
			return
		}
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Sendto(int(fd), buf, 0, to)
			}
		}
	})
	if err == nil {
		err = inner
	}
	return err
}
