package conform

// Waiting for completions and events, with deadlines.

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gofabric/core"
)

// Got is a completion: a success, or the error entry in Err.
type Got struct {
	core.CQEntry
	Src core.FIAddr
	Err *core.CQErrEntry
	Rx  bool // from the receive queue, where the queues are split
}

func (g Got) String() string {
	if g.Err != nil {
		return fmt.Sprintf("error ctx %#x %v olen %d flags %#x peer %v: %s", g.Ctx, g.Err.Err, g.Err.OLen,
			uint64(g.Err.Flags), g.Err.Peer.IP, g.Err.Detail)
	}
	return fmt.Sprintf("ctx %#x flags %#x len %d data %#x tag %#x src %d", g.Ctx, uint64(g.Flags),
		g.Len, g.Data, g.Tag, int64(g.Src))
}

// Pump reads the side's queues until they are empty.
func (s *Side) Pump() {
	s.T.Helper()
	s.pumpCQ(s.TxCQ, false)
	if s.RxCQ != s.TxCQ {
		s.pumpCQ(s.RxCQ, true)
	}
	if s.EQ != nil {
		s.pumpEQ()
	}
}

func (s *Side) pumpCQ(cq *core.CompletionQueue, rx bool) {
	s.T.Helper()
	var entries [32]core.CQEntry
	var src [32]core.FIAddr
	for {
		n, err := cq.ReadFrom(entries[:], src[:])
		if errors.Is(err, core.ErrNoSys) {
			n, err = cq.Read(entries[:]) // only some queues report sources
		}
		switch {
		case errors.Is(err, core.ErrAgain):
			return
		case errors.Is(err, core.ErrAvail):
			e := new(core.CQErrEntry)
			s.ok("ReadErr after ErrAvail", cq.ReadErr(e))
			s.got = append(s.got, Got{CQEntry: e.CQEntry, Src: e.SrcAddr, Err: e, Rx: rx})
			continue
		case err != nil:
			s.T.Fatalf("%s: ReadFrom: %v", s.Name, err)
		case n <= 0 || n > len(entries):
			s.T.Fatalf("%s: ReadFrom returned %d entries and no error", s.Name, n)
		}
		for i := range n {
			s.got = append(s.got, Got{CQEntry: entries[i], Src: src[i], Rx: rx})
		}
		if n < len(entries) {
			return
		}
	}
}

func (s *Side) pumpEQ() {
	s.T.Helper()
	for {
		var ev core.EQEvent
		err := s.EQ.Read(&ev, 0)
		switch {
		case errors.Is(err, core.ErrAgain):
			return
		case errors.Is(err, core.ErrAvail):
			var e core.EQErrEntry
			s.ok("EQ ReadErr after ErrAvail", s.EQ.ReadErr(&e, 0))
			s.errs = append(s.errs, e)
		case err != nil:
			s.T.Fatalf("%s: EQ read: %v", s.Name, err)
		default:
			s.events = append(s.events, ev)
		}
	}
}

// find waits for a completion for which match returns true, and takes it.
func (p *Pair) find(s *Side, d time.Duration, what string, match func(g *Got) bool) Got {
	p.T.Helper()
	var g Got
	p.untilFor(d, s.Name+": "+what, func() bool {
		i := slices.IndexFunc(s.got, func(g Got) bool { return match(&g) })
		if i < 0 {
			return false
		}
		g = s.got[i]
		s.got = slices.Delete(s.got, i, i+1)
		s.seen++
		return true
	})
	return g
}

// Want waits for the successful completion of the operation with ctx.
func (p *Pair) Want(s *Side, ctx core.OpContext) Got {
	p.T.Helper()
	g := p.find(s, Deadline, fmt.Sprintf("completion of ctx %#x", ctx), func(g *Got) bool { return g.Ctx == ctx })
	if g.Err != nil {
		p.T.Fatalf("%s: operation %#x failed: %v\n%s", s.Name, ctx, g, p.Dump())
	}
	return g
}

// WantEnd waits until the operation with ctx ends, with success or failure.
func (p *Pair) WantEnd(s *Side, ctx core.OpContext, d time.Duration) Got {
	p.T.Helper()
	return p.find(s, d, fmt.Sprintf("end of ctx %#x", ctx), func(g *Got) bool { return g.Ctx == ctx })
}

// WantErr waits until the operation with ctx fails, with one of the errors want if there are any.
func (p *Pair) WantErr(s *Side, ctx core.OpContext, want ...core.Errno) Got {
	p.T.Helper()
	g := p.WantEnd(s, ctx, p.Stack.bounded())
	if g.Err == nil {
		p.T.Fatalf("%s: operation %#x succeeded (%v); want an error %v", s.Name, ctx, g, want)
	}
	if len(want) > 0 && !slices.Contains(want, g.Err.Err) {
		p.T.Fatalf("%s: operation %#x failed with %v; want %v", s.Name, ctx, g, want)
	}
	return g
}

// WantWhere waits for a successful completion with the given property.
func (p *Pair) WantWhere(s *Side, what string, match func(g *Got) bool) Got {
	p.T.Helper()
	return p.find(s, Deadline, what, match)
}

// Quiet is how long WantNone waits for completions.
const Quiet = 20 * time.Millisecond

// WantNone fails if side s has, or gets within Quiet, any completion.
func (p *Pair) WantNone(s *Side) {
	p.T.Helper()
	end := time.Now().Add(Quiet)
	for n := 0; ; n++ {
		p.Progress()
		if len(s.got) > 0 {
			p.T.Fatalf("%s: unexpected completion %v", s.Name, s.got[0])
		}
		if time.Now().After(end) {
			return
		}
		relax(n + 200)
	}
}

// WantEvent waits for an event of the given type on the side's own queue.
func (s *Side) WantEvent(typ core.EQEventType) core.EQEvent {
	s.T.Helper()
	end := time.Now().Add(Deadline)
	for n := 0; ; n++ {
		s.pumpEQ()
		if s.also != nil {
			s.also.Pump()
		}
		if i := slices.IndexFunc(s.events, func(e core.EQEvent) bool { return e.Type == typ }); i >= 0 {
			ev := s.events[i]
			s.events = slices.Delete(s.events, i, i+1)
			return ev
		}
		if len(s.errs) > 0 {
			s.T.Fatalf("%s: waiting for event %d, got error %v (%s)", s.Name, typ, s.errs[0].Err, s.errs[0].Detail)
		}
		if time.Now().After(end) {
			s.T.Fatalf("%s: no event %d within %v\n%s", s.Name, typ, Deadline, s.Dump())
		}
		relax(n)
	}
}

// WantEventErr waits for an error event.
func (s *Side) WantEventErr() core.EQErrEntry {
	s.T.Helper()
	end := time.Now().Add(Deadline)
	for n := 0; ; n++ {
		s.pumpEQ()
		if len(s.errs) > 0 {
			e := s.errs[0]
			s.errs = s.errs[1:]
			return e
		}
		if time.Now().After(end) {
			s.T.Fatalf("%s: no error event within %v\n%s", s.Name, Deadline, s.Dump())
		}
		relax(n)
	}
}

// WantEventAny waits for an event of type typ or for an error event. It returns nil for an event.
func (s *Side) WantEventAny(typ core.EQEventType) *core.EQErrEntry {
	s.T.Helper()
	end := time.Now().Add(Deadline)
	for n := 0; ; n++ {
		s.pumpEQ()
		if i := slices.IndexFunc(s.events, func(e core.EQEvent) bool { return e.Type == typ }); i >= 0 {
			s.events = slices.Delete(s.events, i, i+1)
			return nil
		}
		if len(s.errs) > 0 {
			e := s.errs[0]
			s.errs = s.errs[1:]
			return &e
		}
		if time.Now().After(end) {
			s.T.Fatalf("%s: neither event %d nor an error within %v\n%s", s.Name, typ, Deadline, s.Dump())
		}
		relax(n)
	}
}
