//go:build !fabricbasic

package netx

import (
	"io"
	"net"
	"sync"
	"testing"
)

// connections makes n TCP connections with a message on each, and returns their descriptors.
func connections(t *testing.T, n int) (fds []FD, hangUp func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var ends []net.Conn
	for range n {
		a, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, a, b)
		if _, err := a.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(b, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		raw, err := a.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		raw.Control(func(fd uintptr) { fds = append(fds, FD(fd)) })
	}
	return fds, func() {
		for _, c := range ends {
			c.Close()
		}
	}
}

// TestMeter: all connections are queried in turn, and the counts of closed ones stay in the sum.
func TestMeter(t *testing.T) {
	fds, hangUp := connections(t, 5)
	defer hangUp()
	var m Meter
	var open []*Metered
	for _, fd := range fds {
		open = append(open, m.Add(fd))
	}
	for asked := uint64(2); asked <= 4; asked += 2 {
		m.Ask(2)
		if s := m.Sum(); s.Sent != asked {
			t.Fatalf("%d segments were seen, of %d connections", s.Sent, asked)
		}
	}
	m.Ask(100) // each connection at most once
	s := m.Sum()
	if s.Sent != 5 || s.RTT == 0 || s.Window == 0 || open[4].Path().RTT == 0 {
		t.Fatalf("of five connections: %+v", s)
	}
	open[0].End()
	open[4].End()
	open[2].End()
	after := m.Sum()
	if after.Sent != 5 || after.Window >= s.Window || len(m.open) != 2 {
		t.Errorf("after three have ended: %+v", after)
	}
	last := m.Add(FD(-1)) // no query of it succeeds
	m.Ask(100)
	last.End()
	if s := m.Sum(); s.Sent != 5 {
		t.Errorf("the sum became %d", s.Sent)
	}
}

// TestMeterConcurrent queries while connections are added and removed.
func TestMeterConcurrent(t *testing.T) {
	fds, hangUp := connections(t, 4)
	defer hangUp()
	var m Meter
	var wg sync.WaitGroup
	for _, fd := range fds {
		wg.Go(func() {
			for range 100 {
				r := m.Add(fd)
				m.Ask(1)
				r.Path()
				r.End()
			}
		})
	}
	for range 100 {
		m.Ask(10)
		m.Sum()
	}
	wg.Wait()
	if len(m.open) != 0 {
		t.Errorf("%d are left", len(m.open))
	}
}

// TestGrow: the kernel's counters wrap.
func TestGrow(t *testing.T) {
	var c TCPCounts
	c.grow(&TCPCounts{Retransmitted: 1<<32 - 2, Sent: 7}, &TCPCounts{Retransmitted: 3, Sent: 9})
	if c != (TCPCounts{Retransmitted: 5, Sent: 2}) {
		t.Errorf("%+v", c)
	}
}

func BenchmarkMeter(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	var m Meter
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		b.Fatal(err)
	}
	raw.Control(func(fd uintptr) { m.Add(FD(fd)) })
	for b.Loop() {
		m.Ask(1)
	}
}
