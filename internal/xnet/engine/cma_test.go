// This file tests single-copy transfers: the agreement, announced messages, and actions that a peer must not take.

package engine

import (
	"fmt"
	"testing"

	"gofabric/internal/xnet/wire"
)

// fakeHost is a host of fake processes. Memory whose address was asked for can be read by all of them.
type fakeHost struct {
	mem     [][]byte
	denied  bool // the system forbids it
	reads   int
	full    bool // there can be no invitations
	invited int  // of them
	guests  map[wire.Challenge]connectedProcess
	ways    [2]*fakeWay
	number  uint64 // of the last seal
	copied  func() // called once, after a message was copied and before its seal is read
}

// process is a fake process of the host. It implements CMA.
type process struct {
	r   *fakeHost
	id  Identity
	pid uint32 // as the kernel reports it
	shy bool   // it does not connect to the socket
	n   byte

	seals []*fakeSeals
}

func (p *process) Identity() *Identity { return &p.id }

// fakeInvitation waits for a process to connect.
type fakeInvitation struct {
	p *process
	c wire.Challenge
}

// connectedProcess is a process that has connected, as the kernel reports it.
type connectedProcess struct {
	pid  uint32
	ends Ends
}

func (p *process) Invite() Invitation {
	if p.r.full {
		return nil
	}
	p.n++
	p.r.invited++
	return &fakeInvitation{p: p, c: wire.Challenge{Seal: [SealLen]byte{p.n, byte(p.id.PID)},
		Place: [wire.NameLen]byte{p.n, byte(p.id.PID), 1}}}
}

func (p *process) Prove(c *wire.Challenge, e *Ends) {
	if p.shy {
		return
	}
	if p.r.guests == nil {
		p.r.guests = map[wire.Challenge]connectedProcess{}
	}
	p.r.guests[*c] = connectedProcess{p.pid, *e}
}

func (v *fakeInvitation) Challenge() *wire.Challenge { return &v.c }

func (v *fakeInvitation) Verify(e *Ends, pid uint32, at uint64) bool {
	v.Close()
	g := v.p.r.guests[v.c]
	if g.pid != pid || g.ends != (Ends{e.Space, e.Peer, e.Local}) {
		return false
	}
	return v.p.Copy(&CMARequest{PID: pid, Seal: v.c.Seal, SealAt: at}) == Copied
}

func (v *fakeInvitation) Close() { v.p.r.invited-- }

// fakeWay is a Way between two ends of the host.
type fakeWay struct {
	ends Ends
	far  bool // not of one host
}

func (w *fakeWay) Ends() (Ends, bool) { return w.ends, !w.far }

func (p *process) Address(b []byte) uint64 {
	p.r.mem = append(p.r.mem, b)
	return uint64(len(p.r.mem)) << 32
}

func (p *process) at(addr, n uint64) []byte {
	i, off := addr>>32, addr&0xffffffff
	if i == 0 || i > uint64(len(p.r.mem)) || off+n > uint64(len(p.r.mem[i-1])) {
		return nil
	}
	return p.r.mem[i-1][off : off+n]
}

// fakeSeals are seals in the host's memory. A seal with an odd number is broken.
type fakeSeals struct {
	p     *process
	mem   [256][SealLen]byte
	addr  [256]uint64
	whole map[uint8]bool
}

func (p *process) NewSeals() Seals {
	p.seals = append(p.seals, &fakeSeals{p: p, whole: map[uint8]bool{}})
	return p.seals[len(p.seals)-1]
}

func (f *fakeSeals) Set(i uint8, challenge *[SealLen]byte) (number, at uint64) {
	if f.whole[i] {
		panic("a seal is set while it is whole")
	}
	if f.addr[i] == 0 {
		f.addr[i] = f.p.Address(f.mem[i][:])
	}
	f.p.r.number += 2
	f.whole[i], f.mem[i] = true, wire.Seal(challenge, f.p.r.number)
	return f.p.r.number, f.addr[i]
}

func (f *fakeSeals) Break(i uint8) {
	if !f.whole[i] {
		panic("a seal is broken twice")
	}
	delete(f.whole, i)
	f.mem[i][8] |= 1
}

// whole counts the seals of the process that are not broken.
func (p *process) whole() (n int) {
	for _, f := range p.seals {
		n += len(f.whole)
	}
	return n
}

func (p *process) Copy(l *CMARequest) CMAResult {
	p.r.reads++
	if p.r.denied {
		return Unreadable
	}
	var all []byte
	for _, v := range l.From {
		b := p.at(v.Addr, v.Len)
		if b == nil {
			return Unreadable
		}
		all = append(all, b...)
	}
	for _, b := range l.Into {
		all = all[copy(b, all):]
	}
	if f := p.r.copied; f != nil {
		p.r.copied = nil
		f()
	}
	switch s := p.at(l.SealAt, SealLen); {
	case s == nil || len(all) > 0:
		return Unreadable
	case [SealLen]byte(s) != l.Seal:
		return Unsealed
	}
	return Copied
}

// sameHost makes the script's ends gofabric processes of one host, before they connect.
func sameHost(s *script) *fakeHost {
	r := &fakeHost{}
	for i, e := range []*end{s.a, s.b} {
		e.cfg.Features, e.cfg.CMAOver = wire.FeatureExtended|wire.FeatureSeals|wire.FeatureShow, 1000
		e.cfg.CMA = &process{r: r, pid: uint32(i + 1),
			id: Identity{PID: uint32(i + 1), PIDNS: 7, Process: [16]byte{byte(i + 1)}}}
		r.ways[i] = &fakeWay{ends: Ends{Space: 5, Local: [EndLen]byte{byte(i)}, Peer: [EndLen]byte{byte(1 - i)}}}
		e.c.Way = r.ways[i].Ends
	}
	return r
}

// agreedCMA is a script that has sent its first large message, which goes through the connection.
func agreedCMA(s *script) *fakeHost {
	r := sameHost(s)
	s.connect()
	s.b.recv(1, AnySource, make([]byte, 2000))
	s.a.send(Send{Ctx: 2}, pattern(0, 2000))
	s.flow()
	s.a.want("send 2")
	s.b.want("recv 1 len 2000 src 2")
	return r
}

func TestCMA(t *testing.T) {
	variants(t, func(s *script) {
		agreedCMA(s)
		before := s.b.c.BytesIn
		for i, tagged := range []bool{true, false, true, false} {
			p, buf := pattern(i, 6000), make([]byte, 6000)
			post := func() {
				if tagged {
					s.b.trecv(1, 2, 4, 0, buf[:10], buf[10:])
				} else {
					s.b.recv(1, 2, buf[:10], buf[10:])
				}
			}
			if i < 2 {
				post()
			}
			s.a.send(Send{Ctx: 2, Tagged: tagged, Tag: 4, Ack: i > 1, HasData: true, Data: 3}, p[:9], p[9:])
			s.flow()
			if i >= 2 {
				s.b.checkUnexpected(1)
				s.a.want("send 2") // it need not wait for a receive
				p = append([]byte(nil), p...)
				post()
				s.flow()
			} else {
				s.a.want("send 2")
			}
			if tagged {
				s.b.want("recv 1 len 6000 tag 4 src 2 data 3")
			} else {
				s.b.want("recv 1 len 6000 src 2 data 3")
			}
			same(t, "by reference", buf, p)
		}
		if in := s.b.c.BytesIn - before; in > 4*6000+4*200 {
			t.Errorf("%d bytes came in: the payload went through the connection as well", in)
		}
	})
}

// TestCMATruncated checks that a message for a buffer that is too short is truncated like any other.
func TestCMATruncated(t *testing.T) {
	s := newScript(t)
	agreedCMA(s)
	p, buf := pattern(1, 3000), make([]byte, 1500)
	s.b.recv(1, AnySource, buf[:700], buf[700:])
	s.a.send(Send{Ctx: 2}, p[:2000], p[2000:])
	s.flow()
	s.a.want("send 2")
	s.b.want("recv 1 len 1500 over 1500: " + ErrTruncated.Error())
	same(t, "what fits", buf, p[:1500])
}

// TestCMABudget checks that an unexpected message beyond the budget stays with the sender.
func TestCMABudget(t *testing.T) {
	s := newScript(t)
	agreedCMA(s)
	s.b.rx.PeerLimit = 4000
	p, buf := pattern(1, 5000), make([]byte, 5000)
	s.a.send(Send{Ctx: 2, Tagged: true, Tag: 9}, p)
	s.flow()
	s.b.checkUnexpected(1)
	if s.b.rx.UnexpectedBytes() > 1000 {
		t.Error("the payload was copied in spite of the budget")
	}
	s.b.trecv(1, AnySource, 9, 0, buf)
	s.b.want("recv 1 len 5000 tag 9 src 2")
	s.flow()
	s.a.want("send 2")
	same(t, "kept back", buf, p)
}

// TestCMADenied checks that messages come through the connection after reading the memory has failed.
func TestCMADenied(t *testing.T) {
	variants(t, func(s *script) {
		r := agreedCMA(s)
		r.denied = true
		for range 3 {
			p, buf := pattern(1, 5000), make([]byte, 5000)
			s.b.recv(1, AnySource, buf)
			s.a.send(Send{Ctx: 2}, p)
			s.flow()
			s.a.want("send 2")
			s.b.want("recv 1 len 5000 src 2")
			same(t, "asked for", buf, p)
		}
		if n := r.reads; n > 2 {
			t.Errorf("%d attempts to read what may not be read", n-1)
		}
	})
}

// TestCMARefused checks that no memory is read for peers on other hosts, for those that claim to be another
// process, and for those whose process does not connect, or connects for another connection. A process in between
// that forwards what two others send has two connections.
func TestCMARefused(t *testing.T) {
	for name, change := range map[string]func(r *fakeHost, sender *process, a, b *fakeWay){
		"other boot":      func(_ *fakeHost, p *process, _, _ *fakeWay) { p.id.Host[3] = 1 },
		"other namespace": func(_ *fakeHost, p *process, _, _ *fakeWay) { p.id.PIDNS++ },
		"impostor":        func(_ *fakeHost, p *process, _, _ *fakeWay) { p.id.PID = 2 },
		"stolen secret":   func(_ *fakeHost, p *process, _, _ *fakeWay) { p.id.Process = [16]byte{2} },
		"another's pid":   func(_ *fakeHost, p *process, _, _ *fakeWay) { p.id.PID = 3 },
		"another port":    func(_ *fakeHost, _ *process, a, _ *fakeWay) { a.ends.Local[17]++ },
		"another peer":    func(_ *fakeHost, _ *process, a, _ *fakeWay) { a.ends.Peer[17]++ },
		"another space":   func(_ *fakeHost, _ *process, a, _ *fakeWay) { a.ends.Space++ },
		"not proved":      func(_ *fakeHost, p *process, _, _ *fakeWay) { p.shy = true },
		"no socket":       func(r *fakeHost, _ *process, _, _ *fakeWay) { r.full = true },
		"far for us":      func(_ *fakeHost, _ *process, _, b *fakeWay) { b.far = true },
		"far for it":      func(_ *fakeHost, _ *process, a, _ *fakeWay) { a.far = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			r := sameHost(s)
			change(r, s.a.cfg.CMA.(*process), r.ways[0], r.ways[1])
			s.connect()
			for range 3 {
				p, buf := pattern(1, 5000), make([]byte, 5000)
				s.b.recv(1, AnySource, buf)
				s.a.send(Send{Ctx: 2}, p)
				s.flow()
				s.a.want("send 2")
				s.b.want("recv 1 len 5000 src 2")
				same(t, "through the connection", buf, p)
			}
			if r.reads != 0 {
				t.Error("memory of an unknown process was read")
			}
			if r.invited != 0 {
				t.Errorf("%d sockets are left over", r.invited)
			}
			if told := s.b.c.ext != nil && s.b.c.ext.cma.greeted; told == (name == "far for it") {
				t.Errorf("the peer has received hello: %v", told)
			}
		})
	}
}

// TestCMASilent checks that a peer that stops after hello holds a socket only until the connection ends.
func TestCMASilent(t *testing.T) {
	s := newScript(t)
	r := sameHost(s)
	s.connect()
	hello := s.a.cfg.CMA.Identity().Append(nil)
	s.b.inject(append(header(wire.Header{Op: wire.OpExt}, uint64(len(hello))), hello...))
	if r.invited != 1 {
		t.Fatalf("%d sockets", r.invited)
	}
	s.b.c.Fail(ErrPeerClose)
	s.b.want(fmt.Sprintf("failed %q: %v", "", ErrPeerClose))
	if r.invited != 0 || r.reads != 0 {
		t.Errorf("%d sockets are left over, %d reads", r.invited, r.reads)
	}
}

// TestCMANative checks that a native peer gets no hello.
func TestCMANative(t *testing.T) {
	s := newScript(t)
	sameHost(s)
	s.b.cfg.Features = 0
	s.connect()
	if s.a.c.Extended || s.b.c.Extended {
		t.Fatal("extended without both ends' consent")
	}
	s.b.recv(1, AnySource, make([]byte, 5000))
	s.a.send(Send{Ctx: 2}, pattern(1, 5000))
	s.flow()
	s.a.want("send 2")
	s.b.want("recv 1 len 5000 src 2")
}

// TestCMAClosed checks that the end of the connection ends announced messages at both ends.
func TestCMAClosed(t *testing.T) {
	s := newScript(t)
	agreedCMA(s)
	s.b.rx.PeerLimit = 10 // the message stays with the sender
	s.a.send(Send{Ctx: 2, Tagged: true, Tag: 1}, pattern(1, 5000))
	s.flow()
	s.a.c.Fail(ErrPeerClose)
	s.b.c.Fail(ErrPeerClose)
	s.a.want(fmt.Sprintf("send 2: %v", ErrPeerClose), fmt.Sprintf("failed %q: %v", "", ErrPeerClose))
	s.b.want(fmt.Sprintf("failed %q: %v", "", ErrPeerClose))
}

// TestCMAViolations checks that messages that break the rules end the connection, and that nothing is read.
func TestCMAViolations(t *testing.T) {
	ref := wire.Ref{Index: 1, N: 1, Size: 5000, SealAt: 1 << 32, Number: 2,
		IOV: [MaxIOV]wire.RMAIov{{Addr: 1 << 32, Len: 5000}}}
	unsealed := ref
	unsealed.SealAt, unsealed.Number = 0, 0
	hello := (&Identity{PID: 1, PIDNS: 7}).Append(nil)
	for name, c := range map[string]struct {
		introduced bool
		payloads   [][]byte
	}{
		"reference before the introduction": {false, [][]byte{ref.Append(nil)}},
		"index used twice":                  {true, [][]byte{ref.Append(nil), ref.Append(nil)}},
		"hello twice":                       {false, [][]byte{hello, hello}},
		"proof without hello":               {false, [][]byte{wire.AppendProof(nil, 1)}},
		"proof without a challenge":         {true, [][]byte{wire.AppendProof(nil, 1)}},
		"challenge without a place":         {false, [][]byte{new(wire.Challenge).Append(nil)[:24]}},
		"challenge without hello":           {false, [][]byte{new(wire.Challenge).Append(nil)}},
		"done for nothing":                  {true, [][]byte{wire.AppendExtIndex(nil, wire.ExtDone, 3)}},
		"reference without a seal":          {true, [][]byte{unsealed.Append(nil)}},
		"ready without a challenge":         {false, [][]byte{wire.AppendExtIndex(nil, wire.ExtReady, 0)}},
		"short reference":                   {true, [][]byte{ref.Append(nil)[:40]}},
		"short hello":                       {false, [][]byte{hello[:20]}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			var r *fakeHost
			if c.introduced {
				r = agreedCMA(s)
				s.b.rx.PeerLimit = 10
			} else {
				r = sameHost(s)
				s.connect()
			}
			reads := r.reads
			for _, p := range c.payloads {
				s.b.inject(append(header(wire.Header{Op: wire.OpExt}, uint64(len(p))), p...))
			}
			s.b.want(fmt.Sprintf("failed %q: %v", "", ErrProtocol))
			if r.reads != reads {
				t.Error("memory was read")
			}
		})
	}
}

// TestCMAAsking checks that an end without the peer's final answer is not idle, although its operations are
// complete. If it closed, the answer would reset the transport, and data on its way would be lost.
func TestCMAAsking(t *testing.T) {
	for name, denied := range map[string]bool{"granted": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			r := sameHost(s)
			r.denied = denied
			s.connect()
			s.b.recv(1, AnySource, make([]byte, 2000))
			s.a.send(Send{Ctx: 2}, pattern(0, 2000))
			s.a.transmit(1 << 20)
			if s.a.c.InFlight() != 0 || s.a.c.HasPending() || s.a.c.Idle() {
				t.Errorf("%d operations, pending %v, idle %v: the peer has not answered", s.a.c.InFlight(),
					s.a.c.HasPending(), s.a.c.Idle())
			}
			s.flow()
			s.a.want("send 2")
			s.b.want("recv 1 len 2000 src 2")
			if !s.a.c.Idle() || !s.b.c.Idle() {
				t.Error("an end is not idle although nothing is in progress")
			}
		})
	}
}
