package endpoint_test

import (
	"errors"
	"net/netip"
	"testing"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/xnet/engine"
)

// TestUnknownSource: a message of a peer that is not in the address vector becomes an error entry with the peer's
// address, and counts as received. Other completions are reported as usual.
func TestUnknownSource(t *testing.T) {
	r := newReporter(t)
	peer := netip.MustParseAddrPort("10.0.0.9:9")
	s := &endpoint.UnknownSource{Sink: r.drv, E: &r.drv.Endpoint, Addr: &peer}
	for _, c := range []struct {
		name   string
		c      engine.Completion
		q      *core.CompletionQueue
		flags  core.CompFlags
		failed bool // an error entry about the sender
		silent bool // no entry at all
	}{
		{"a message", engine.Completion{Kind: engine.KindRecv, Src: engine.AnySource,
			Flags: uint64(core.CompMsg | core.CompRecv)}, r.rx, core.CompMsg | core.CompRecv, true, false},
		{"a message with data", engine.Completion{Kind: engine.KindRecv, Src: engine.AnySource, HasData: true, Data: 5},
			r.rx, core.CompRemoteCQData, true, false},
		{"the last of a buffer", engine.Completion{Kind: engine.KindRecv, Src: engine.AnySource, Silent: true,
			Release: true}, r.rx, core.CompMultiRecv, true, false},
		{"a write with data", engine.Completion{Kind: engine.KindRemoteWrite, Src: engine.AnySource, HasData: true},
			r.rx, core.CompRMA | core.CompRemoteWrite | core.CompRemoteCQData, true, false},
		{"an atomic with data", engine.Completion{Kind: engine.KindRemoteWrite, Src: engine.AnySource, HasData: true,
			Atomic: true}, r.rx, core.CompAtomic | core.CompRemoteWrite | core.CompRemoteCQData, true, false},
		{"a silent message", engine.Completion{Kind: engine.KindRecv, Src: engine.AnySource, Silent: true}, r.rx, 0,
			false, true},
		{"a known sender's", engine.Completion{Kind: engine.KindRecv, Src: 3}, r.rx, 0, false, false},
		{"a peek", engine.Completion{Kind: engine.KindRecv, Src: engine.AnySource, Peek: true}, r.rx, 0, false, false},
		{"a send", engine.Completion{Kind: engine.KindSend, Src: engine.AnySource}, r.tx, 0, false, false},
	} {
		c.c.Ctx, c.c.Len, c.c.Tag = 7, 4, 6
		r.d.locked(func() { s.Completed(&c.c) })
		var es [1]core.CQEntry
		n, err := c.q.Read(es[:])
		switch {
		case c.silent:
			if n != 0 || err != core.ErrAgain {
				t.Errorf("%s: %d entries, %v", c.name, n, err)
			}
		case !c.failed:
			if n != 1 || err != nil || es[0].Ctx != 7 {
				t.Errorf("%s: %d entries, %v: %+v", c.name, n, err, es)
			}
		case n != 0 || !errors.Is(err, core.ErrAvail):
			t.Errorf("%s: %d entries, %v; want an error entry", c.name, n, err)
		default:
			var e core.CQErrEntry
			must(t, c.q.ReadErr(&e))
			if e.Err != core.ErrAddrNotAvail || e.Peer.IP != peer || e.SrcAddr != core.AddrNotAvail || e.Ctx != 7 ||
				e.Len != 4 || e.Tag != 6 || e.Flags != c.flags || e.Data != c.c.Data {
				t.Errorf("%s: %+v", c.name, e)
			}
		}
		if _, failed := r.counted(t); failed != 0 {
			t.Errorf("%s: counted as a failure: %v", c.name, failed)
		}
	}
	o := &ownerOf{}
	r.d.locked(func() { s.Completed(&engine.Completion{Kind: engine.KindRecv, Src: engine.AnySource, Owner: o}) })
	if none(t, r.rx); o.ends != 1 {
		t.Errorf("an owner got %d completions", o.ends)
	}
}

// TestUnknownSourceWrap: a receive context with its own queues reports unknown senders, too, through one sink per
// context.
func TestUnknownSourceWrap(t *testing.T) {
	r := newReporter(t)
	peer := netip.MustParseAddrPort("10.0.0.9:9")
	s := &endpoint.UnknownSource{Sink: r.drv, E: &r.drv.Endpoint, Addr: &peer}
	rx := endpoint.RxSink{Endpoint: &r.drv.Endpoint}
	a, b := s.Wrap(rx), s.Wrap(rx)
	if a != b {
		t.Error("each message makes a sink")
	}
	if u, ok := a.(*endpoint.UnknownSource); !ok || u.E != &r.drv.Endpoint {
		t.Errorf("wrapped: %+v", a)
	}
	if got := s.Wrap(r.drv); got != engine.CompletionSink(r.drv) {
		t.Error("a sink that collects nothing is wrapped")
	}
	srx := opened(t, r.d.OpenSRX, nil)
	if drv := srx.Driver().(*endpoint.SharedRx); s.Wrap(drv) != engine.CompletionSink(drv) {
		t.Error("a shared context without its own queues is wrapped")
	}
	must(t, srx.Close())
	for caps, want := range map[core.Caps]bool{core.CapSource: false, core.CapSourceErr: false,
		core.CapSource | core.CapSourceErr: true} {
		e := r.d.open(t, testInfo(allCaps|caps))
		if got := e.drv.NamesUnknownSources(); got != want {
			t.Errorf("%v: %v", caps, got)
		}
		must(t, e.Close())
	}
}
