package engine

import (
	"testing"

	"gofabric/internal/xnet/wire"
)

// fetcher records what it must fetch.
type fetcher struct{ list []Fetch }

func (y *fetcher) Fetch(f *Fetch) {
	g := *f
	g.From = append([]wire.RMAIov(nil), f.From...)
	g.Into = append([][]byte(nil), f.Into...)
	y.list = append(y.list, g)
}

func outOfBandEnd(t *testing.T) (*end, *fetcher) {
	e := &end{t: t, name: "e"}
	e.rx = NewRxContext(&e.pool, e)
	e.cfg = Config{StageMax: 1024, StageLimit: 1 << 20, TxDepth: 600, InternalMax: 16}
	e.c = NewReady(&e.pool, &e.cfg, e.rx, &e.mem, e)
	e.c.Extended = true
	y := &fetcher{}
	e.c.SetFetcher(y, 4096)
	return e, y
}

// TestOutOfBand checks that large messages are only named in the stream, and complete in any order.
func TestOutOfBand(t *testing.T) {
	e, _ := outOfBandEnd(t)
	for i := range 300 {
		s := Send{Kind: KindSend, Ctx: uint64(i), NIOV: 1}
		s.IOV[0] = make([]byte, 5000)
		err := e.c.Submit(&s)
		if (err == nil) != (i < 254) {
			t.Fatal(i, err)
		}
	}
	if op := e.c.AnnouncedSend(0); op != nil {
		t.Fatal("no message has index 0")
	}
	for i := 254; i > 0; i-- {
		if op := e.c.AnnouncedSend(uint8(i)); op == nil || op.Ctx != uint64(i-1) || op.Len() != 5000 {
			t.Fatal(i, op)
		}
		e.c.SendFetched(uint8(i), nil)
		e.c.SendFetched(uint8(i), nil)
	}
	if len(e.events) != 254 || e.events[0] != "send 253" {
		t.Fatal(len(e.events), e.events[0])
	}
	for e.c.HasPending() {
		e.c.Transmitted(e.c.out.bytes)
	}
	if !e.c.Idle() || e.pool.OutTx != 0 {
		t.Fatal("leak")
	}
}

// TestOutOfBandWaits checks that a message that waits for an index gets one when another is complete.
func TestOutOfBandWaits(t *testing.T) {
	e, _ := outOfBandEnd(t)
	big := make([]byte, 5000)
	s := Send{Kind: KindSend, NIOV: 1, Fence: true}
	s.IOV[0] = big
	for range 300 { // a fence holds back all but the first
		if err := e.c.Submit(&s); err != nil {
			t.Fatal(err)
		}
	}
	for range 300 {
		e.c.SendFetched(1, nil)
	}
	if len(e.events) != 300 {
		t.Fatal(len(e.events))
	}
}

// TestAnnounce checks that announced messages are matched in their place, and then fetched.
func TestAnnounce(t *testing.T) {
	e, y := outOfBandEnd(t)
	from := []wire.RMAIov{{Addr: 1, Len: 2, Key: 3}, {Len: 98, Key: 4}}
	post := func(ctx uint64, n int) {
		op := e.rx.NewOp()
		op.Ctx = ctx
		op.SetBuf(make([]byte, n))
		e.rx.PostTagged(op, AnySource, 7, 0)
	}
	a := Announcement{Tagged: true, Tag: 7, Size: 100, ID: 55, From: from}
	e.c.Announce(&a)
	a.ID = 56
	e.c.Announce(&a)
	post(1, 100)
	post(2, 30)
	post(3, 0)
	a.ID, a.HasData, a.Data = 57, true, 9
	e.c.Announce(&a)
	if len(y.list) != 3 {
		t.Fatal(len(y.list))
	}
	for i, n := range []uint64{100, 30, 0} {
		f := y.list[i]
		if f.ID != uint64(55+i) || len(f.From) != 2 || f.From[1] != from[1] || sum(f.Into) != n {
			t.Fatalf("%+v", f)
		}
	}
	e.c.Fetched(y.list[1].Slot, nil)
	e.c.Fetched(y.list[1].Slot, nil)
	e.c.Fetched(77, nil)
	e.c.Announce(&a)
	e.c.Fail(ErrPeerClose)
	if len(e.events) != 4 || e.pool.OutRx != 0 || e.pool.OutUnexp != 0 {
		t.Fatal(e.events, e.pool.OutRx, e.pool.OutUnexp)
	}
	e.c.Fetched(y.list[0].Slot, nil)
	e.c.Announce(&a)
}

// TestAnnouncedFlood checks that a peer that announces without end is no longer read.
func TestAnnouncedFlood(t *testing.T) {
	e, _ := outOfBandEnd(t)
	for i := range announcedMax {
		if e.c.Stalled() {
			t.Fatal(i)
		}
		e.c.Announce(&Announcement{Size: 1 << 20, ID: uint64(i)})
	}
	if !e.c.Stalled() {
		t.Fatal("not stalled")
	}
	op := e.rx.NewOp()
	op.SetBuf(make([]byte, 10))
	e.rx.PostMsg(op, AnySource)
	if e.resumed == 0 {
		t.Fatal("not resumed")
	}
}

// TestAsked answers reads and atomic operations in any order.
func TestAsked(t *testing.T) {
	e, _ := outOfBandEnd(t)
	for i := range 3 {
		s := Send{Kind: KindRead, Ctx: uint64(i), NIOV: 1, NRMA: 1}
		s.IOV[0] = make([]byte, 8)
		s.RMA[0] = wire.RMAIov{Len: 8}
		if err := e.c.Submit(&s); err != nil {
			t.Fatal(err)
		}
	}
	a, b := e.c.TakeRequest(), e.c.TakeRequest()
	if a.Ctx != 0 || b.Ctx != 1 {
		t.Fatal("order")
	}
	e.c.RequestDone(b, nil)
	e.c.RequestDone(b, nil)
	e.c.Fail(ErrPeerClose)
	e.c.RequestDone(a, nil)
	if len(e.events) != 4 || e.events[0] != "read 1 len 8" || e.pool.OutTx != 0 {
		t.Fatal(e.events)
	}
}

// TestOutOfBandShut checks that messages for a context that was shut are fetched into nothing, or dropped.
func TestOutOfBandShut(t *testing.T) {
	e, y := outOfBandEnd(t)
	e.rx.Shut(func(yield func(*Conn) bool) { yield(e.c) })
	e.c.Announce(&Announcement{Size: 1 << 20, ID: 7, From: []wire.RMAIov{{Len: 1 << 20}}})
	if len(y.list) != 1 || y.list[0].ID != 7 || len(y.list[0].Into) != 0 {
		t.Fatal(y.list)
	}
	e.c.Fetched(y.list[0].Slot, nil)
	e.cfg.Prefix = func(dst []byte, h *wire.Header) []byte { return append(dst, "0123456789"...) }
	for range 2 {
		h := wire.Header{Op: wire.OpMsg, Flags: wire.FlagTagged, Tag: 5}
		h.SetPayload(300)
		e.c.Receive(0, append(h.Append(nil, wire.Little), make([]byte, 300)...))
	}
	if e.c.State() != Connected || e.pool.OutUnexp != 0 || e.pool.OutRx != 0 || e.rx.Unexpected() != 0 ||
		len(e.events) != 0 {
		t.Fatal(e.c.State(), e.rx.Unexpected(), e.events)
	}
}

// TestOutOfBandDisowned checks that buffers that the fetcher has are not used after their owner has closed.
func TestOutOfBandDisowned(t *testing.T) {
	for name, begin := range map[string]func(e *end, y *fetcher, o Owner){
		"asked": func(e *end, _ *fetcher, o Owner) {
			s := Send{Kind: KindRead, NIOV: 1, NRMA: 1, Owner: o}
			s.IOV[0], s.RMA[0].Len = make([]byte, 8), 8
			must(t, e.c.Submit(&s))
			if e.c.TakeRequest() == nil {
				t.Fatal("not asked")
			}
			e.c.Disown(o)
		},
		"announced": func(e *end, _ *fetcher, o Owner) {
			s := Send{Kind: KindSend, NIOV: 1, Owner: o}
			s.IOV[0] = make([]byte, 5000)
			must(t, e.c.Submit(&s))
			e.c.Disown(o)
		},
		"fetched": func(e *end, y *fetcher, _ Owner) {
			op := e.rx.NewOp()
			op.SetBuf(make([]byte, 100))
			e.rx.PostMsg(op, AnySource)
			e.c.Announce(&Announcement{Size: 100, ID: 7, From: []wire.RMAIov{{Len: 100}}})
			if len(y.list) != 1 {
				t.Fatal(y.list)
			}
			e.rx.Shut(func(yield func(*Conn) bool) { yield(e.c) })
		},
	} {
		e, y := outOfBandEnd(t)
		begin(e, y, ignored{})
		if e.c.State() != Closed || e.pool.OutTx != 0 || e.pool.OutRx != 0 {
			t.Errorf("%s: the connection goes on, and the fetcher has buffers that are the application's again", name)
		}
		for _, ev := range e.events {
			if ev[:6] != "failed" {
				t.Errorf("%s: %s", name, ev)
			}
		}
	}
}
