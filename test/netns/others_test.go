//go:build linux

package netns

// The traffic of other programs on the same link.

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"
	"time"
)

// others is traffic of other programs between two hosts, which checks every byte: TCP in both directions, and
// datagrams that are answered one by one.
type others struct {
	t     *testing.T
	conns []net.Conn
	udp   [2]*net.UDPConn
	stop  chan struct{}
	done  chan error
	marks chan int // a value after every few rounds of datagrams
	lost  int      // datagrams sent again; valid after done
	sent  int
}

const (
	othersPort  = 7777
	othersBlock = 32 << 10
	othersAgain = 2 * time.Second
)

func startOthers(t *testing.T, a, b *host) *others {
	t.Helper()
	o := &others{t: t, stop: make(chan struct{}), done: make(chan error, 8), marks: make(chan int, 1)}
	var l net.Listener
	b.Inside(func() (err error) {
		if l, err = net.Listen("tcp4", fmt.Sprintf("%s:%d", b.v4, othersPort)); err != nil {
			return err
		}
		o.udp[1], err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(b.v4), Port: othersPort})
		return err
	})
	defer l.Close()
	for range 2 {
		a.Inside(func() error {
			c, err := net.Dial("tcp4", l.Addr().String())
			o.conns = append(o.conns, c)
			return err
		})
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		o.conns = append(o.conns, c)
	}
	a.Inside(func() (err error) {
		o.udp[0], err = net.DialUDP("udp4", nil, o.udp[1].LocalAddr().(*net.UDPAddr))
		return err
	})
	go func() { o.done <- o.write(o.conns[0]) }()
	go func() { o.done <- o.read(o.conns[1]) }()
	go func() { o.done <- o.write(o.conns[3]) }()
	go func() { o.done <- o.read(o.conns[2]) }()
	go func() { o.done <- o.ask() }()
	go o.answer()
	return o
}

func (o *others) stopped() bool {
	select {
	case <-o.stop:
		return true
	default:
		return false
	}
}

// write sends blocks of a sequence until the end, and then ends its direction.
func (o *others) write(c net.Conn) error {
	g := rand.NewChaCha8([32]byte{1})
	b := make([]byte, othersBlock)
	for !o.stopped() {
		g.Read(b)
		c.SetWriteDeadline(time.Now().Add(long))
		if _, err := c.Write(b); err != nil {
			return fmt.Errorf("TCP: %w", err)
		}
	}
	return c.(*net.TCPConn).CloseWrite()
}

func (o *others) read(c net.Conn) error {
	g := rand.NewChaCha8([32]byte{1})
	b, want := make([]byte, othersBlock), make([]byte, othersBlock)
	for n := 0; ; n++ {
		g.Read(want)
		c.SetReadDeadline(time.Now().Add(long))
		_, err := io.ReadFull(c, b)
		switch {
		case err == io.EOF && n > 0 && o.stopped():
			return nil
		case err != nil:
			return fmt.Errorf("TCP: block %d: %w", n, err)
		case string(b) != string(want):
			return fmt.Errorf("TCP: block %d has other bytes", n)
		}
	}
}

// ask sends datagrams and waits for the answer to each. It sends a lost one again, and counts it.
func (o *others) ask() error {
	for n := 0; !o.stopped(); n++ {
		o.sent++
		for began := time.Now(); ; o.lost++ {
			if time.Since(began) > long {
				return fmt.Errorf("UDP: no answer to datagram %d within %v", n, long)
			}
			err := o.askOnce(n)
			if err == nil {
				break
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				return fmt.Errorf("UDP: %w", err)
			}
		}
		if n%64 == 0 {
			select {
			case o.marks <- n:
			default:
			}
		}
	}
	return nil
}

// askOnce sends a datagram and waits for its answer. It ignores late answers to datagrams that were sent again.
func (o *others) askOnce(n int) error {
	text := func(n int) string { return fmt.Sprintf("%01000d", n) }
	got := make([]byte, 2000)
	if _, err := o.udp[0].Write([]byte(text(n))); err != nil {
		return err
	}
	o.udp[0].SetReadDeadline(time.Now().Add(othersAgain))
	for {
		k, err := o.udp[0].Read(got)
		if err != nil {
			return err
		}
		switch m, err := strconv.Atoi(string(got[:k])); {
		case err != nil || m > n || string(got[:k]) != text(m):
			return fmt.Errorf("the answer has other bytes: %q", got[:k])
		case m == n:
			return nil
		}
	}
}

func (o *others) answer() {
	b := make([]byte, 2000)
	for {
		n, from, err := o.udp[1].ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		o.udp[1].WriteToUDPAddrPort(b[:n], from)
	}
}

// goOn waits until datagrams have made round trips that began after the call.
func (o *others) goOn() {
	o.t.Helper()
	for range 3 { // the first value may be older
		select {
		case <-o.marks:
		case err := <-o.done:
			o.t.Fatalf("the traffic of other programs failed: %v", err)
		case <-time.After(long):
			o.t.Fatal("the datagrams of other programs get no answers")
		}
	}
}

// end ends the traffic and reports its result. When an XDP program is detached, a veth interface drops the packets in
// its ring, including those of other programs (drivers/net/veth.c, veth_napi_del_range). With one datagram at a time,
// it drops one at most.
func (o *others) end(programs int) {
	o.t.Helper()
	close(o.stop)
	for range 5 {
		if err := <-o.done; err != nil {
			o.t.Errorf("the traffic of other programs failed: %v", err)
		}
	}
	for _, c := range o.conns {
		c.Close()
	}
	for _, c := range o.udp {
		c.Close()
	}
	o.t.Logf("datagrams of other programs: %d, %d of them sent again", o.sent, o.lost)
	if o.lost > programs {
		o.t.Errorf("%d of %d datagrams of other programs were lost, while %d XDP programs were detached", o.lost,
			o.sent, programs)
	}
}
