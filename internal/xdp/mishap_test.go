//go:build linux

package xdp

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/test/cable"
)

// What happens to an interface, or to the process, while its program is aside.

// comes sends datagrams to an address, whose neighbour may have to be found out first, until the port there has one, or the socket if p is nil.
func comes(t *testing.T, from *place, to netip.AddrPort, p *Port, plain *net.UDPConn) {
	t.Helper()
	s := listen(t, from, netip.AddrPortFrom(from.v4, 0))
	var f [64]Frame
	buf := make([]byte, 100)
	until(t, "a datagram", func() bool {
		s.WriteToUDPAddrPort([]byte("datagram"), to)
		if p == nil {
			must(t, plain.SetReadDeadline(time.Now().Add(time.Millisecond)))
			_, _, err := plain.ReadFromUDPAddrPort(buf)
			return err == nil
		}
		n := p.Receive(f[:])
		p.Release(f[:n])
		return n > 0
	})
}

// TestStepAsideDown: an interface that goes down and up while its program is aside has it back when the large messages have ended, down or up, and all goes on.
func TestStepAsideDown(t *testing.T) {
	a, b := places(t, 1, 1500)
	at := netip.AddrPortFrom(a.v4, 7001)
	i, p := openPort(t, a, Config{Mode: Generic}, at)
	plain := listen(t, a, at)
	for _, endsDown := range []bool{true, false} {
		stop := sweep(t, i)
		a.IP("link", "set", cable.End, "down")
		if endsDown {
			stop()
			until(t, "coming back to an interface that is down", func() bool { return on(i) })
		}
		a.IP("link", "set", cable.End, "up")
		if !endsDown {
			comes(t, b, at, nil, plain)
			stop()
		}
		until(t, "coming back", func() bool { return on(i) })
		comes(t, b, at, p, nil)
	}
	stop := sweep(t, i) // and at any time
	defer stop()
	for range 10 {
		i.stay(1)
		a.IP("link", "set", cable.End, "down")
		i.stay(-1)
		a.IP("link", "set", cable.End, "up")
	}
	until(t, "stepping aside", func() bool { return gone(i) })
	comes(t, b, at, nil, plain)
	if err := i.Err(); err != nil {
		t.Error(err)
	}
}

// TestStepAsideRemoved: when the interface is removed while its program is aside, whoever asks is told so, everything ends soon, and another interface of the name can be had.
func TestStepAsideRemoved(t *testing.T) {
	for _, holds := range []bool{true, false} {
		a, b := places(t, 1, 1500)
		at := netip.AddrPortFrom(a.v4, 7001)
		i, p := openPort(t, a, Config{Mode: Generic}, at)
		if holds {
			must(t, i.prog.hold())
		}
		told := make(chan error, 1)
		p.OnLoss(func(err error) { told <- err })
		stop := sweep(t, i)
		a.IP("link", "del", cable.End)
		until(t, "the news", func() bool { return errors.Is(i.Err(), unix.ENETDOWN) })
		stop()
		until(t, "a try", func() bool {
			i.mover.mu.Lock()
			defer i.mover.mu.Unlock()
			if i.mover.a.failed > 0 {
				i.mover.a.failed = attempts - 1 // those that follow take seconds
			}
			return i.mover.a.failed > 0
		})
		select {
		case err := <-told:
			if !errors.Is(err, NoInterface) {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatal("nobody is told")
		}
		if errno := p.SendSingle(packet(t, a, b, at, netip.AddrPortFrom(b.v4, 7002), []byte("gone"))); errno != unix.ENXIO && errno != unix.ENODEV && errno != unix.ENETDOWN {
			t.Errorf("past the rings: %v", errno)
		}
		for range 100 {
			i.Came(0, 8<<20, 8, 0)
		}
		p.Stay(true)
		must(t, p.Close())
		i.Close()
		a.IP("link", "add", cable.End, "type", "veth", "peer", "name", cable.End, "netns", b.Name)
		for _, h := range []*place{a, b} {
			h.IP("link", "set", cable.End, "up")
			h.IP("addr", "add", h.v4.String()+"/24", "dev", cable.End)
		}
		j, q := openPort(t, a, Config{Mode: Generic}, at)
		if j == i {
			t.Fatal("the same interface")
		}
		comes(t, b, at, q, nil)
	}
}

// TestStepAsideKilled: a process that is killed while its program is aside leaves nothing: no program, no map, no link, no namespace, no socket; the interface serves others.
func TestStepAsideKilled(t *testing.T) {
	a, b := places(t, 1, 1500)
	at := netip.AddrPortFrom(a.v4, 7001)
	other, numbers := node(t, a, at, nodeAside)
	marked := a.MarkApart(other.Process.Pid)
	if !marked() {
		t.Fatal("there is no sign of the namespace")
	}
	a.Enter()
	index := a.Interface(cable.End).Index
	until(t, "stepping aside", func() bool { return attachedTo(index) == 0 }) // on a slow machine large messages pause, and it is back for a moment
	must(t, other.Process.Kill())
	other.Wait()
	for _, n := range numbers {
		until(t, "the end of "+n, func() bool { return !exists(n) })
	}
	until(t, "the end of the namespace", func() bool { return !marked() })
	plain := listen(t, a, at)
	comes(t, b, at, nil, plain)
	_, p := openPort(t, a, Config{Mode: Generic}, at)
	comes(t, b, at, p, nil)
}
