package conform

// Open returns a connected Pair: through a listener for MSG endpoints, through address vectors for RDM endpoints.

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/need"
	"gofabric/test/wait"
)

// Deadline is the time limit of any wait of the suite. It is much longer than any step takes, even where many
// processes share a processor.
var Deadline = wait.Limit / 2

// Pair is two connected sides. A is the one that connected.
type Pair struct {
	T     testing.TB
	Stack Stack
	A, B  *Side
	extra []*Side
	ended bool
}

// Open opens and connects two sides. At its end the test closes them and fails if completions are left.
func Open(t testing.TB, st Stack, opts ...Option) *Pair {
	t.Helper()
	k := makeConfig(opts)
	p := &Pair{T: t, Stack: st}
	ka := k
	ka.shareB = nil
	kb := k
	p.B = openSide(t, st, "B", kb, k.shareB)
	var shareA *Side
	if st.OneDomain {
		shareA = p.B
		ka.shareB = nil
	}
	p.A = openSide(t, st, "A", ka, shareA)
	if st.Manual {
		p.A.also, p.B.also = p.B, p.A
	}
	if st.EPType == core.EPTypeMsg {
		p.listen()
		p.A.openEP(p.A.Info)
		if !k.apart {
			p.Connect(k.connData, k.acceptData)
		}
	} else {
		p.A.openEP(p.A.Info)
		p.B.openEP(p.B.Info)
		if k.introduce != nil {
			k.introduce(p)
		} else {
			p.introduce()
		}
	}
	t.Cleanup(p.Close)
	return p
}

// introduce exchanges names (fi_getname(3)) and inserts them.
func (p *Pair) introduce() {
	p.T.Helper()
	for _, s := range []*Side{p.A, p.B} {
		s.Addr = must(p.T, "Name", s.EP.Name)
	}
	p.A.Peer = p.A.Insert(p.B.Addr)
	if !p.B.cfg.noPeerInAV {
		p.B.Peer = p.B.Insert(p.A.Addr)
	}
}

// Insert adds an address to the side's vector.
func (s *Side) Insert(a core.Addr) core.FIAddr {
	s.T.Helper()
	fi := make([]core.FIAddr, 1)
	n, err := s.AV.Insert([]core.Addr{a}, fi, 0)
	if err != nil || n != 1 {
		s.T.Fatalf("%s: AV insert of %v: %d, %v", s.Name, a, n, err)
	}
	return fi[0]
}

// listen opens B's passive endpoint.
func (p *Pair) listen() {
	p.T.Helper()
	if p.Stack.Manual && p.A != nil {
		p.B.also = p.A
	}
	s := p.B
	s.PEP = must(p.T, "OpenPassiveEndpoint",
		func() (*core.PassiveEndpoint, error) { return s.Fabric.OpenPassiveEndpoint(s.Info) })
	s.ok("BindEQ of the listener", s.PEP.BindEQ(s.EQ, 0))
	s.ok("Listen", s.PEP.Listen())
	s.Addr = must(p.T, "Name of the listener", s.PEP.Name)
}

// Connect connects A's endpoint to B's listener, which accepts.
func (p *Pair) Connect(data, acceptData []byte) {
	p.T.Helper()
	if p.A.Info.Domain.ControlProgress == core.ProgressManual {
		p.B.also = p.A
	}
	p.A.ok("Connect", p.A.EP.Connect(p.B.Addr, data))
	req := p.B.WantEvent(core.EventConnReq)
	p.B.openEP(req.Info)
	p.B.ok("Accept", p.B.EP.Accept(acceptData))
	p.B.WantEvent(core.EventConnected)
	p.A.WantEvent(core.EventConnected)
}

// sides returns all sides whose application makes calls.
func (p *Pair) sides() []*Side {
	return append([]*Side{p.A, p.B}, p.extra...)
}

// Close closes both sides. Completions that were not waited for fail the test.
func (p *Pair) Close() {
	if p.ended {
		return
	}
	p.ended = true
	p.T.Helper()
	if !p.T.Failed() && !p.T.Skipped() {
		for _, s := range p.sides() {
			if s.EP == nil || s.Asleep || s.Stack.Inserts {
				continue
			}
			s.Pump()
			if len(s.got) > 0 {
				p.T.Errorf("completions left over at the end:\n%s", s.Dump())
			}
		}
	}
	for _, s := range []*Side{p.A, p.B} {
		s.CloseEP()
	}
	p.A.Close()
	p.B.Close()
}

// Forget drops completions and events seen so far. Tests that end in errors on purpose call it.
func (p *Pair) Forget() {
	for _, s := range p.sides() {
		if s.EP != nil && !s.Asleep {
			s.Pump()
		}
		s.got, s.events, s.errs = nil, nil, nil
	}
}

// Retry calls post until it returns another error than ErrAgain, or none. It makes progress meanwhile.
func (p *Pair) Retry(what string, post func() error) {
	p.T.Helper()
	if err := p.TryPost(post); err != nil {
		notOffered(p.T, err)
		p.T.Fatalf("%s: %v\n%s", what, err, p.Dump())
	}
}

// TryPost is Retry that returns the error. It returns ErrAgain if post does so until the deadline.
func (p *Pair) TryPost(post func() error) error {
	p.order()
	end := time.Now().Add(Deadline)
	for n := 0; ; n++ {
		err := post()
		if !errors.Is(err, core.ErrAgain) || time.Now().After(end) {
			return err
		}
		p.Progress()
		relax(n)
	}
}

// order orders the test's accesses to its memory so far before those of the sides' own goroutines: a call into each
// takes its lock. The race detector sees no order through a socket.
func (p *Pair) order() {
	if !need.Raced {
		return
	}
	for _, s := range p.sides() {
		if s.EP != nil {
			s.EP.GetOpt(core.OptMinMultiRecv)
		}
	}
}

// Progress reads the queues of the sides whose application makes calls.
func (p *Pair) Progress() {
	for _, s := range p.sides() {
		if !s.Asleep {
			s.Pump()
		}
	}
}

// Dump describes both sides.
func (p *Pair) Dump() string { return p.A.Dump() + "\n" + p.B.Dump() }

// relax yields. After many rounds without progress it sleeps for a short time, because the processes share the cores.
func relax(n int) {
	if n > 200 {
		time.Sleep(50 * time.Microsecond)
		return
	}
	runtime.Gosched()
}

// until makes progress until cond returns true or the deadline passes.
func (p *Pair) until(what string, cond func() bool) {
	p.T.Helper()
	p.untilFor(Deadline, what, cond)
}

func (p *Pair) untilFor(d time.Duration, what string, cond func() bool) {
	p.T.Helper()
	end := time.Now().Add(d)
	for n := 0; !cond(); n++ {
		if time.Now().After(end) {
			p.T.Fatalf("%s: not within %v\n%s", what, d, p.Dump())
		}
		p.Progress()
		relax(n)
	}
}

// Recover sends from A to B, and from B to A, until a message arrives again. Operations that were pending when a
// connection broke may have failed.
func Recover(p *Pair) {
	p.T.Helper()
	recoverTo(p, p.A, p.B)
	recoverTo(p, p.B, p.A)
	p.Forget()
}
