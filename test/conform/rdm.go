package conform

// Reliable datagram endpoints (fi_endpoint(3), FI_EP_RDM): connections on demand, many peers, restarts, dead peers.

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"gofabric/core"
)

func testRDM(t *testing.T, st Stack) {
	if st.EPType != core.EPTypeRDM {
		return
	}
	t.Run("ondemand", func(t *testing.T) { rdmOnDemand(t, st) })
	t.Run("simultaneous", func(t *testing.T) { rdmSimultaneous(t, st) })
	t.Run("self", func(t *testing.T) { rdmSelf(t, st) })
	t.Run("sendonly", func(t *testing.T) { rdmSendOnly(t, st) })
	t.Run("directed", func(t *testing.T) { rdmDirected(t, st) })
	t.Run("alltoall", func(t *testing.T) { rdmAllToAll(t, st) })
	t.Run("names", func(t *testing.T) { rdmNames(t, st) })
	// Tests that lose a peer mostly wait, so they run in parallel.
	t.Run("restart", func(t *testing.T) { t.Parallel(); rdmRestart(t, st) })
	t.Run("killed", func(t *testing.T) { t.Parallel(); rdmKilled(t, st) })
	t.Run("dead", func(t *testing.T) { t.Parallel(); rdmDead(t, st) })
}

// add opens one more endpoint in its own domain. It is in no vector yet, and has no peers.
func (p *Pair) add(name string, opts ...Option) *Side {
	p.T.Helper()
	s := openSide(p.T, p.Stack, name, makeConfig(opts), nil)
	s.openEP(s.Info)
	s.Addr = must(p.T, "Name", s.EP.Name)
	p.extra = append(p.extra, s)
	p.T.Cleanup(func() { s.Close() })
	return s
}

// rdmOnDemand sends the first message in either direction, with each call.
func rdmOnDemand(t *testing.T, st Stack) {
	for i, c := range msgSends {
		p := Open(t, st)
		s, r := p.A, p.B
		if i%2 == 1 {
			s, r = r, s
		}
		exchange(p, s, r, c, msgRecvs[0], 64, uint64(i))
		exchange(p, r, s, c, msgRecvs[0], 64, uint64(i)+100)
		p.Close()
	}
}

// rdmSimultaneous has both sides send their first messages at the same time, repeatedly.
func rdmSimultaneous(t *testing.T, st Stack) {
	p := Open(t, st)
	for round := range 100 {
		if round > 0 {
			for _, s := range []*Side{p.A, p.B} {
				s.ok("Remove", s.AV.Remove([]core.FIAddr{s.Peer}, 0))
				s.CloseEP()
			}
			p.Forget()
			p.A.openEP(p.A.Info)
			p.B.openEP(p.B.Info)
			p.introduce()
		}
		var bufs [2][2][64]byte
		for i, s := range []*Side{p.A, p.B} {
			for k := range 2 {
				p.Retry("recv", func() error { return s.Rx().Recv(bufs[i][k][:], 0, core.AddrUnspec, core.OpContext(10+k)) })
			}
		}
		var wg sync.WaitGroup
		errs := make(chan error, 2)
		for i, s := range []*Side{p.A, p.B} {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for k := range 2 {
					b := Pattern(64, uint64(i*2+k))
					for end := time.Now().Add(Deadline); ; {
						err := s.EP.Send(b, 0, s.Peer, core.OpContext(20+k))
						if err == nil {
							break
						}
						if !errors.Is(err, core.ErrAgain) || time.Now().After(end) {
							errs <- err
							return
						}
						time.Sleep(50 * time.Microsecond) // the domain's goroutine makes progress
					}
				}
			}()
		}
		wg.Wait()
		select {
		case err := <-errs:
			t.Fatalf("round %d: send: %v", round, err)
		default:
		}
		for i, s := range []*Side{p.A, p.B} {
			for k := range 2 {
				if g := p.Want(s, core.OpContext(10+k)); g.Len != 64 {
					t.Fatalf("round %d: received %v; want 64 bytes", round, g)
				}
				p.Want(s, core.OpContext(20+k))
				CheckPattern(t, fmt.Sprint("round ", round), bufs[i][k][:], 64, uint64((1-i)*2+k))
			}
		}
	}
}

// rdmSelf has an endpoint send messages to itself, with and without tags, and access its own memory.
func rdmSelf(t *testing.T, st Stack) {
	caps := allCaps(t, st)
	p := Open(t, st, WithCaps(caps))
	a := p.A
	a.Peer = a.Insert(a.Addr)
	for i, n := range []int{0, 1, 100, 65536, min(1<<20, st.maxSize())} {
		exchange(p, a, a, msgSends[i%4], msgRecvs[0], n, uint64(i))
		if caps&core.CapTagged != 0 {
			exchange(p, a, a, taggedSends[i%4], taggedRecvs[0], n, uint64(100+i))
		}
	}
	// The message is unexpected.
	p.Retry("send", func() error { return a.EP.Send(Pattern(50, 5), 0, a.Peer, 1) })
	for range 20 {
		p.Progress()
	}
	buf := make([]byte, 50)
	p.Retry("recv", func() error { return a.Rx().Recv(buf, 0, core.AddrUnspec, 2) })
	p.Want(a, 2)
	p.Want(a, 1)
	CheckPattern(t, "unexpected from itself", buf, 50, 5)
	if caps&core.CapRMA != 0 {
		mem := make([]byte, 5000)
		mr := a.Reg(mem, allAccess)
		p.Retry("write", func() error { return a.EP.Write(Pattern(5000, 6), 0, a.Peer, mr.Base(), mr.Key(), 3) })
		p.Want(a, 3)
		back := make([]byte, 5000)
		p.Retry("read", func() error { return a.EP.Read(back, 0, a.Peer, mr.Base(), mr.Key(), 4) })
		p.Want(a, 4)
		p.Progress()
		CheckPattern(t, "write to itself", mem, 5000, 6)
		CheckPattern(t, "read from itself", back, 5000, 6)
		a.ok("Close MR", mr.Close())
	}
}

// rdmSendOnly has a peer that only sends, is in no vector, and then closes.
func rdmSendOnly(t *testing.T, st Stack) {
	p := Open(t, st, WithoutPeer())
	buf := make([]byte, 64)
	for i := range 20 {
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, core.OpContext(i)) })
		p.Retry("inject", func() error { return p.A.EP.Inject(Pattern(64, uint64(i)), p.A.Peer) })
		p.Want(p.B, core.OpContext(i))
		CheckPattern(t, "message", buf, 64, uint64(i))
	}
	// The peer is inserted later, and gets an answer over the same connection.
	p.B.Peer = p.B.Insert(p.A.Addr)
	exchange(p, p.B, p.A, msgSends[0], msgRecvs[0], 64, 1)
	exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 64, 2)
}

func rdmNames(t *testing.T, st Stack) {
	p := Open(t, st)
	if p.A.Addr == p.B.Addr || p.A.Addr.IP.Port() == 0 {
		t.Errorf("names %v and %v", p.A.Addr.IP, p.B.Addr.IP)
	}
	// Two endpoints cannot have the same name.
	info := p.A.Info.Dup()
	info.SrcAddr = p.B.Addr
	ep, err := p.A.Domain.OpenEndpoint(info)
	if err == nil {
		p.A.BindAll(ep)
		err = ep.Enable()
		p.A.ok("Close", ep.Close())
	}
	refuse(t, "an endpoint on a port in use", err, core.ErrAddrInUse)
}
