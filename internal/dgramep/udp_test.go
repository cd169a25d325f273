package dgramep_test

// This file tests endpoints over real sockets.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/dgramep"
	"gofabric/test/wait"
)

var families = map[string]string{"IPv4": "127.0.0.1", "IPv6": "::1"}

// TestMessages sends and receives by every call, in both families and over the layer fault.
func TestMessages(t *testing.T) {
	for family, at := range families {
		for _, provider := range []string{"udp", "udp;fault"} {
			t.Run(provider+" "+family, func(t *testing.T) {
				a, b := real(t, provider, at).enable(), real(t, provider, at).enable()
				to, from := a.knows(b.name()), b.knows(a.name())
				msg := []byte("every call carries this")
				iov, in := [][]byte{msg[:4], msg[4:]}, make([]byte, 64)
				sends := []func() error{
					func() error { return a.ep.Send(msg, 0, to, 3) },
					func() error { return a.ep.SendV(iov, nil, to, 3) },
					func() error {
						return a.ep.SendMsg(&core.MsgArgs{IOV: iov, Addr: to, Ctx: 3}, core.OpTransmitComplete)
					},
					func() error { return a.ep.Inject(msg, to) },
				}
				recvs := []func() error{
					func() error { return b.ep.Recv(in, 0, core.AddrUnspec, 4) },
					func() error { return b.ep.RecvV([][]byte{in[:7], in[7:]}, nil, core.AddrUnspec, 4) },
					func() error { return b.ep.RecvMsg(&core.MsgArgs{IOV: [][]byte{in}, Ctx: 4}, 0) },
				}
				for i, send := range sends {
					for _, recv := range recvs {
						clear(in)
						must(t, recv())
						must(t, send())
						e, src := b.next()
						if e.Ctx != 4 || e.Len != len(msg) || string(in[:e.Len]) != string(msg) || src != from {
							t.Errorf("%+v from %d, %q; want from %d", e, src, in, from)
						}
						if i < 3 {
							if e := a.one(a.tx); e.Ctx != 3 || e.Flags != core.CompMsg|core.CompSend {
								t.Errorf("send: %+v", e)
							}
						}
					}
				}
				a.none(a.tx)
				st, _ := dgramep.StatsOf(a.ep.Driver())
				if want := uint64(len(sends) * len(recvs)); st.SentDatagrams != want {
					t.Errorf("%+v, want %d sent", st, want)
				}
			})
		}
	}
}

// TestEarly: datagrams that come before Enable, and before their receive, are not lost.
func TestEarly(t *testing.T) {
	a, b := real(t, "udp", "127.0.0.1").enable(), real(t, "udp", "127.0.0.1")
	to := a.knows(b.name())
	for i := range 10 {
		must(t, a.ep.Inject(fmt.Appendf(nil, "%d", i), to))
	}
	if err := b.ep.Recv(nil, 0, core.AddrUnspec, 0); err != core.ErrOpBadState {
		t.Errorf("receive before Enable: %v", err)
	}
	b.none(b.rx) // a pass, which takes them out of the socket
	b.enable()
	in := make([]byte, 8)
	for i := range 10 {
		must(t, b.ep.Recv(in, 0, core.AddrUnspec, 1))
		if e, src := b.next(); string(in[:e.Len]) != fmt.Sprint(i) || src != core.AddrNotAvail {
			t.Errorf("%q from %d, want %d from an unknown one", in[:e.Len], src, i)
		}
	}
}

// TestNames: an endpoint has a name at once, also below a layer. The name can be changed before Enable, and peers
// can send to it.
func TestNames(t *testing.T) {
	for _, provider := range []string{"udp", "udp;fault"} {
		t.Run(provider, func(t *testing.T) {
			a, b := real(t, provider, "127.0.0.1"), real(t, provider, "127.0.0.1")
			old := b.name()
			must(t, b.ep.SetName(old))
			if err := b.ep.SetName(a.name()); !errors.Is(err, core.ErrAddrInUse) {
				t.Errorf("a name that is in use: %v", err)
			}
			if err := b.ep.SetName(core.Addr{}); !errors.Is(err, core.ErrInval) {
				t.Errorf("no name: %v", err)
			}
			must(t, b.ep.SetName(core.IPAddr(netipAt("127.0.0.2", 0))))
			if got := b.name(); got.IP.Addr().String() != "127.0.0.2" || got.IP.Port() == 0 {
				t.Errorf("name is %v", got)
			}
			a.enable()
			b.enable()
			must(t, b.ep.Recv(make([]byte, 8), 0, core.AddrUnspec, 1))
			must(t, a.ep.Inject([]byte("x"), a.knows(b.name())))
			b.next()
		})
	}
}

// TestSleeping: a datagram wakes a sleeping reader.
func TestSleeping(t *testing.T) {
	a, b := real(t, "udp", "127.0.0.1").enable(), real(t, "udp", "127.0.0.1")
	q, err := b.d.OpenCQ(core.CQAttr{WaitObj: core.WaitUnspec})
	must(t, err)
	b.bound = append(b.bound, q)
	c, err := b.d.OpenEndpoint(b.info)
	must(t, err)
	b.more = append(b.more, c)
	must(t, c.BindCQ(q, core.BindTransmit|core.BindRecv))
	must(t, c.BindAV(b.av, 0))
	must(t, c.Enable())
	must(t, c.Recv(make([]byte, 8), 0, core.AddrUnspec, 1))
	name, err := c.Name()
	must(t, err)
	to := a.knows(name)
	sent := make(chan error, 1)
	time.AfterFunc(20*time.Millisecond, func() { sent <- a.ep.Inject([]byte("x"), to) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if n, err := q.SRead(ctx, make([]core.CQEntry, 1)); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	must(t, <-sent)
}

// TestMulticast: members receive what is sent to their group, until they leave.
func TestMulticast(t *testing.T) {
	for _, c := range []struct{ family, at, group string }{{"IPv4", "127.0.0.1", "239.7.7.7"},
		{"IPv6", "fd07::1", "ff15::7"}} {
		t.Run(c.family, func(t *testing.T) {
			if c.family == "IPv6" && !inside(t) { // loopback has no IPv6 multicast
				return
			}
			a, b := real(t, "udp", c.at).enable(), real(t, "udp;fault", c.at).enable()
			group := core.IPAddr(netipAt(c.group, b.name().IP.Port()))
			in, err := b.ep.Join(group, 0, "here")
			must(t, err)
			var ev core.EQEvent
			must(t, b.eq.Read(&ev, 0))
			if ev.Type != core.EventJoinComplete || ev.Object != core.Object(in) || ev.Context != "here" {
				t.Errorf("event %+v", ev)
			}
			out, err := a.ep.Join(group, core.JoinSend, nil)
			must(t, err)
			from := b.knows(a.name())
			buf := make([]byte, 8)
			must(t, b.ep.Recv(buf, 0, core.AddrUnspec, 1))
			must(t, a.ep.SendMsg(&core.MsgArgs{IOV: [][]byte{[]byte("all")}, Addr: out.Addr()}, core.OpMulticast))
			if e, src := b.next(); string(buf[:e.Len]) != "all" || src != from {
				t.Errorf("%q from %d, want from %d", buf[:e.Len], src, from)
			}
			// A second membership keeps the group when the first ends.
			again, err := b.ep.Join(group, 0, nil)
			must(t, err)
			must(t, in.Close())
			must(t, b.ep.Recv(buf, 0, core.AddrUnspec, 1))
			must(t, a.ep.Send([]byte("more"), 0, out.Addr(), 1))
			b.next()
			if err := b.ep.Close(); !errors.Is(err, core.ErrBusy) {
				t.Errorf("closed as a member: %v", err)
			}
			must(t, again.Close())
			must(t, out.Close())
			if err := out.Close(); err != core.ErrBadF {
				t.Errorf("left twice: %v", err)
			}
			if err := a.ep.Send([]byte("x"), 0, out.Addr(), 1); err != core.ErrInval {
				t.Errorf("sent to a group that was left: %v", err)
			}
			if _, err := a.ep.Join(a.name(), 0, nil); !errors.Is(err, core.ErrInval) {
				t.Errorf("joined an address that is not a group: %v", err)
			}
		})
	}
}

// TestFaults: datagrams that the layer loses do not arrive, and no call hangs.
func TestFaults(t *testing.T) {
	a := real(t, "udp;fault", "127.0.0.1", "FI_FAULT_LOSS", "50%", "FI_FAULT_DUP", "10%").enable()
	b := real(t, "udp", "127.0.0.1").enable()
	to := a.knows(b.name())
	const n = 400
	in := make([]byte, 8)
	got := 0
	for i := range n {
		must(t, a.ep.Send([]byte("x"), 0, to, core.OpContext(i)))
		a.one(a.tx)
	}
	read := func() {
		var e [1]core.CQEntry
		if k, _ := b.rx.Read(e[:]); k == 1 {
			got++
		} else if err := b.ep.Recv(in, 0, core.AddrUnspec, 1); err != nil && err != core.ErrAgain {
			t.Fatal(err)
		}
	}
	wait.Polling(t, "a quarter of them come", func() bool { read(); return got >= n/4 })
	for deadline := time.Now().Add(300 * time.Millisecond); time.Now().Before(deadline); {
		read() // the layer may let too many pass
	}
	if got > n*3/4 {
		t.Errorf("%d of %d came", got, n)
	}
}

// TestNoAllocationUDP: a round trip over sockets allocates nothing.
func TestNoAllocationUDP(t *testing.T) {
	a, b := real(t, "udp", "127.0.0.1").enable(), real(t, "udp", "127.0.0.1").enable()
	to, back := a.knows(b.name()), b.knows(a.name())
	// Each end has a buffer of its own. The race detector does not see that a message through a socket orders two
	// writes.
	inA, inB, got, msg := make([]byte, 64), make([]byte, 64), make([]core.CQEntry, 4), []byte("message")
	src := make([]core.FIAddr, 4)
	wait := func(s *side) {
		for {
			if n, _ := s.rx.ReadFrom(got, src); n > 0 {
				return
			}
		}
	}
	trip := func() {
		must(t, a.ep.Recv(inA, 0, core.AddrUnspec, 1))
		must(t, b.ep.Recv(inB, 0, core.AddrUnspec, 1))
		must(t, a.ep.Send(msg, 0, to, 1))
		wait(b)
		must(t, b.ep.Send(msg, 0, back, 1))
		wait(a)
		a.tx.Read(got)
		b.tx.Read(got)
	}
	if n := testing.AllocsPerRun(300, trip); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestConcurrent: several goroutines post, cancel, query and read at once. Every send and every receive has its
// completion.
func TestConcurrent(t *testing.T) {
	a, b := real(t, "udp", "127.0.0.1").enable(), real(t, "udp", "127.0.0.1").enable()
	to := a.knows(b.name())
	const senders, each = 4, 200
	var group sync.WaitGroup
	for i := range senders {
		group.Go(func() {
			msg := []byte{byte(i)}
			for range each {
				for {
					err := a.ep.Send(msg, 0, to, core.OpContext(i))
					if err == nil {
						break
					}
					if err != core.ErrAgain {
						t.Error(err)
						return
					}
				}
				a.ep.Cancel(99)
				dgramep.StatsOf(a.ep.Driver())
			}
		})
	}
	group.Go(func() {
		bufs := make([]byte, senders*each)
		for i := range bufs {
			for b.ep.Recv(bufs[i:i+1], 0, core.AddrUnspec, core.OpContext(i)) != nil {
				b.rx.Read(nil)
			}
		}
	})
	count := func(q *core.CompletionQueue) int {
		n, es := 0, make([]core.CQEntry, 32)
		for deadline := time.Now().Add(patience); n < senders*each && time.Now().Before(deadline); {
			k, err := q.Read(es)
			if n += k; err != nil && err != core.ErrAgain {
				t.Error(err)
				break
			}
		}
		return n
	}
	received := make(chan int)
	go func() { received <- count(b.rx) }()
	if n := count(a.tx); n != senders*each {
		t.Errorf("%d sends completed", n)
	}
	// Nothing may be lost, as the socket and the endpoint have room for all of it.
	if n := <-received; n != senders*each {
		t.Errorf("%d received", n)
	}
	group.Wait()
}

// TestNoAuthKey: endpoints of datagrams refuse authorization keys, which datagrams do not have.
func TestNoAuthKey(t *testing.T) {
	s := real(t, "udp", "127.0.0.1")
	if s.info.EP.AuthKeySize != 0 || s.info.Domain.AuthKeySize != 0 {
		t.Error(s.info.EP.AuthKeySize, s.info.Domain.AuthKeySize)
	}
	info := s.info.Dup()
	info.EP.AuthKey = []byte("key")
	if _, err := s.d.OpenEndpoint(info); !errors.Is(err, core.ErrOpNotSupp) {
		t.Error(err)
	}
	info = s.info.Dup()
	info.Domain.AuthKey = []byte("key")
	d, err := s.f.OpenDomain(info)
	must(t, err)
	if _, err := d.OpenEndpoint(info); !errors.Is(err, core.ErrOpNotSupp) {
		t.Error("of a domain with a key:", err)
	}
	must(t, d.Close())
}
