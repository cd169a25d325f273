//go:build !fabricbasic

// This file checks that the fast path allocates nothing, unlike the portable one.

package netx

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestDataPathDoesNotAllocate(t *testing.T) {
	c, s := pair(t)
	p, err := NewPoller()
	must(t, err)
	defer p.Close()
	must(t, p.Add(s, In, 7))
	k, err := NewParker()
	must(t, err)
	defer k.Close()
	must(t, k.Attach(p))
	n, err := NewNotifier()
	must(t, err)
	defer n.Close()

	u, _, to := datagramSocket(t, loopback6)
	one, many := Datagram{Buf: make([]byte, 4096)}, NewBatch(4, 4096)
	burst := NewBurst(8, 8)
	must(t, SetGRO(u, true))

	msg, buf := make([]byte, 64), make([]byte, 4096)
	evs := make([]Event, 16)
	out, in := NewIOV(64), NewIOV(64)
	drain := func() {
		for {
			if _, err := Recv(s, buf); err == unix.EAGAIN {
				return
			}
		}
	}
	for _, step := range []struct {
		name string
		run  func()
	}{
		{"Send and Recv", func() { Send(c, msg, false); drain() }},
		{"Recv, none", func() { Recv(s, buf) }},
		{"SendV", func() {
			out.Reset()
			out.Append(msg)
			out.Append(msg)
			SendV(c, out, false)
			drain()
		}},
		{"RecvV", func() {
			Send(c, msg, false)
			in.Reset()
			in.Append(buf[:10])
			in.Append(buf[10:])
			RecvV(s, in)
		}},
		{"SendTo and RecvFrom", func() {
			SendTo(u, to, msg)
			RecvFrom(u, &one)
			ap, _ := one.From.AddrPort()
			to.Set(ap, unix.AF_INET6, 0)
		}},
		{"SendTo and RecvPlain", func() { SendTo(u, to, msg); RecvPlain(u, &one) }},
		{"SendToV and RecvBatch", func() {
			out.Reset()
			out.Append(msg)
			SendToV(u, to, out, 10)
			RecvBatch(u, many)
		}},
		{"SendBurst", func() {
			burst.Reset()
			for range 3 {
				burst.Append(msg)
				burst.End()
			}
			SendBurst(u, to, burst, 64)
			RecvBatch(u, many)
		}},
		{"Drops", func() { Drops(u) }},
		{"Poller.Wait(0), none", func() { p.Wait(evs, 0) }},
		{"Poller.Wait(0), one", func() { Send(c, msg, false); p.Wait(evs, 0); drain() }},
		{"Poller.Wait, waiting", func() { p.Wait(evs, time.Millisecond) }},
		{"Poller.Mod", func() { p.Mod(s, In, 7) }},
		{"SetTimer", func() { k.SetTimer(time.Hour); k.SetTimer(0) }},
		{"ArmPoller", func() { k.ArmPoller(true); k.ArmPoller(false) }},
		{"Wake and Park", func() { k.Wake(); k.Wake(); k.Park() }},
		{"timer and Park", func() { k.SetTimer(time.Microsecond); k.Park() }},
		{"Notifier", func() { n.Signal(); n.Signal(); n.Reset() }},
	} {
		if allocs := testing.AllocsPerRun(50, step.run); allocs != 0 {
			t.Errorf("%s allocates %v times", step.name, allocs)
		}
	}
}
