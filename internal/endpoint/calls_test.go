package endpoint_test

// This file tests every transmit and receive call, from post to completion.

import (
	"bytes"
	"slices"
	"testing"

	"gofabric/core"
)

var message = []byte("every call carries this")

// TestMessages posts every kind of message and receives it by every kind of receive.
func TestMessages(t *testing.T) {
	const tag, data, ctx = 0x77, 0xda7a, 5
	var iov = [][]byte{message[:5], message[5:]}
	sends := []struct {
		name                 string
		tagged, data, silent bool
		post                 func(e *loopEndpoint) error
	}{
		{"send", false, false, false, func(e *loopEndpoint) error { return e.Send(message, 0, 0, ctx) }},
		{"sendv", false, false, false, func(e *loopEndpoint) error { return e.SendV(iov, nil, 0, ctx) }},
		{"sendmsg", false, true, false, func(e *loopEndpoint) error {
			return e.SendMsg(&core.MsgArgs{IOV: iov, Ctx: ctx, Data: data}, core.OpRemoteCQData)
		}},
		{"senddata", false, true, false, func(e *loopEndpoint) error { return e.SendData(message, 0, data, 0, ctx) }},
		{"inject", false, false, true, func(e *loopEndpoint) error { return e.Inject(message, 0) }},
		{"injectdata", false, true, true, func(e *loopEndpoint) error { return e.InjectData(message, data, 0) }},
		{"tsend", true, false, false, func(e *loopEndpoint) error { return e.TSend(message, 0, 0, tag, ctx) }},
		{"tsendv", true, false, false, func(e *loopEndpoint) error { return e.TSendV(iov, nil, 0, tag, ctx) }},
		{"tsendmsg", true, true, false, func(e *loopEndpoint) error {
			return e.TSendMsg(&core.TaggedArgs{IOV: iov, Tag: tag, Ctx: ctx, Data: data},
				core.OpRemoteCQData|core.OpDeliveryComplete)
		}},
		{"tsenddata", true, true, false,
			func(e *loopEndpoint) error { return e.TSendData(message, 0, data, 0, tag, ctx) }},
		{"tinject", true, false, true, func(e *loopEndpoint) error { return e.TInject(message, 0, tag) }},
		{"tinjectdata", true, true, true, func(e *loopEndpoint) error { return e.TInjectData(message, data, 0, tag) }},
	}
	in := make([]byte, 64)
	parts := [][]byte{in[:7], in[7:]}
	recvs := map[bool][]func(e *loopEndpoint) error{
		false: {
			func(e *loopEndpoint) error { return e.Recv(in, 0, core.AddrUnspec, ctx+1) },
			func(e *loopEndpoint) error { return e.RecvV(parts, nil, core.AddrUnspec, ctx+1) },
			func(e *loopEndpoint) error { return e.RecvMsg(&core.MsgArgs{IOV: parts, Ctx: ctx + 1}, 0) },
		},
		true: {
			func(e *loopEndpoint) error { return e.TRecv(in, 0, core.AddrUnspec, tag&^3, 3, ctx+1) },
			func(e *loopEndpoint) error { return e.TRecvV(parts, nil, core.AddrUnspec, tag, 0, ctx+1) },
			func(e *loopEndpoint) error {
				return e.TRecvMsg(&core.TaggedArgs{IOV: parts, Tag: tag, Ctx: ctx + 1}, 0)
			},
		},
	}
	w := newWorld(t, allCaps, 0)
	for _, s := range sends {
		for i, recv := range recvs[s.tagged] {
			for _, unexpected := range []bool{false, true} {
				clear(in)
				if !unexpected {
					must(t, recv(w.b))
				}
				must(t, s.post(w.a))
				if unexpected {
					must(t, recv(w.b))
				}
				kind := core.CompMsg
				if s.tagged {
					kind = core.CompTagged
				}
				if s.silent {
					none(t, w.qa)
				} else if e := next(t, w.qa); e.Ctx != ctx || e.Flags != kind|core.CompSend {
					t.Errorf("%s: completion %+v", s.name, e)
				}
				got := next(t, w.qb)
				flags := kind | core.CompRecv
				if s.data {
					flags |= core.CompRemoteCQData
				}
				if got.Ctx != ctx+1 || got.Flags != flags || got.Len != len(message) || s.data && got.Data != data ||
					s.tagged && got.Tag != tag || !bytes.Equal(in[:got.Len], message) {
					t.Errorf("%s, receive %d, unexpected %v: completion %+v, %q", s.name, i, unexpected, got, in)
				}
			}
		}
	}
}

// TestRemoteAccess reads and writes a peer's memory by every call, counts at both ends, and has the connections
// forget the key.
func TestRemoteAccess(t *testing.T) {
	const ctx, data = 9, 0xda7a
	w := newWorld(t, allCaps, 0)
	mem := make([]byte, 64)
	region := opened(t, w.d.RegMR, &core.MRAttr{IOV: [][]byte{mem},
		Access: core.AccessRemoteRead | core.AccessRemoteWrite, RequestedKey: 3})
	count := w.d.counter(t)
	must(t, region.BindCounter(count, core.BindRemoteWrite|core.BindRemoteRead))
	rma := func(iov [][]byte) *core.RMAArgs {
		return &core.RMAArgs{IOV: iov, RMAIOV: []core.RMAIov{{Addr: 8, Len: 4, Key: 3},
			{Addr: 12, Len: uint64(len(message)) - 4, Key: 3}}, Ctx: ctx, Data: data}
	}
	buf := make([]byte, len(message))
	split := func(b []byte) [][]byte { return [][]byte{b[:3], b[3:]} }
	for name, post := range map[string]func(e *loopEndpoint) error{
		"read":            func(e *loopEndpoint) error { return e.Read(buf, 0, 0, 8, 3, ctx) },
		"readv":           func(e *loopEndpoint) error { return e.ReadV(split(buf), nil, 0, 8, 3, ctx) },
		"readmsg":         func(e *loopEndpoint) error { return e.ReadMsg(rma(split(buf)), 0) },
		"write":           func(e *loopEndpoint) error { return e.Write(message, 0, 0, 8, 3, ctx) },
		"writev":          func(e *loopEndpoint) error { return e.WriteV(split(message), nil, 0, 8, 3, ctx) },
		"writemsg":        func(e *loopEndpoint) error { return e.WriteMsg(rma(split(message)), 0) },
		"writedata":       func(e *loopEndpoint) error { return e.WriteData(message, 0, data, 0, 8, 3, ctx) },
		"injectwrite":     func(e *loopEndpoint) error { return e.InjectWrite(message, 0, 8, 3) },
		"injectwritedata": func(e *loopEndpoint) error { return e.InjectWriteData(message, data, 0, 8, 3) },
	} {
		read, inject, remote := name[0] == 'r', name[0] == 'i', bytes.HasSuffix([]byte(name), []byte("data"))
		clear(mem)
		clear(buf)
		if read {
			copy(mem[8:], message)
		}
		before := count.Value()
		must(t, post(w.a))
		if inject {
			none(t, w.qa)
		} else if e := next(t, w.qa); e.Ctx != ctx || e.Flags&core.CompRMA == 0 {
			t.Errorf("%s: completion %+v", name, e)
		}
		if remote {
			if e := next(t, w.qb); e.Data != data || e.Flags != core.CompRMA|core.CompRemoteWrite|core.CompRemoteCQData {
				t.Errorf("%s: completion at the target %+v", name, e)
			}
		} else {
			none(t, w.qb)
		}
		if got := mem[8 : 8+len(message)]; !bytes.Equal(got, message) || read && !bytes.Equal(buf, message) {
			t.Errorf("%s: memory %q, buffer %q", name, got, buf)
		}
		if count.Value() == before {
			t.Errorf("%s: the region's counter did not move", name)
		}
	}
	must(t, region.Close())
	must(t, count.Close())
	if !slices.Equal(w.d.drv.forgotten, []uint64{3, 3}) {
		t.Errorf("forgotten keys %v, want 3 at both endpoints", w.d.drv.forgotten)
	}
}

// TestPeek looks at a message, claims it, takes it, and discards another.
func TestPeek(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	in := make([]byte, 64)
	args := func(ctx core.OpContext) *core.TaggedArgs {
		return &core.TaggedArgs{IOV: [][]byte{in}, Tag: 1, Ctx: ctx}
	}
	for range 2 {
		must(t, w.a.TSend(message, 0, 0, 1, 1))
		next(t, w.qa)
	}
	must(t, w.b.TRecvMsg(args(4), core.OpPeek|core.OpClaim))
	if e := next(t, w.qb); e.Len != len(message) || e.Ctx != 4 {
		t.Errorf("peek: %+v", e)
	}
	must(t, w.b.TRecvMsg(args(4), core.OpClaim))
	if e := next(t, w.qb); e.Len != len(message) || !bytes.Equal(in[:e.Len], message) {
		t.Errorf("claim: %+v", e)
	}
	must(t, w.b.TRecvMsg(args(5), core.OpPeek|core.OpDiscard))
	next(t, w.qb)
	if err := w.b.TRecvMsg(args(6), core.OpClaim); err != core.ErrInval {
		t.Errorf("claim of nothing: %v", err)
	}
	if err := w.b.TRecvMsg(args(6), core.OpDiscard); err != core.ErrInval {
		t.Errorf("discard alone: %v", err)
	}
	must(t, w.b.TRecvMsg(args(7), core.OpPeek))
	if n, err := w.qb.Read(make([]core.CQEntry, 1)); err != core.ErrAvail {
		t.Errorf("peek at nothing: %d, %v; want an error entry", n, err)
	}
	var e core.CQErrEntry
	must(t, w.qb.ReadErr(&e))
	if e.Err != core.ErrNoMsg || e.Ctx != 7 {
		t.Errorf("peek at nothing: %+v", e)
	}
}

// TestNoAllocation: a message costs no memory, from post to completion.
func TestNoAllocation(t *testing.T) {
	w := newWorld(t, allCaps, 0)
	in, got := make([]byte, 64), make([]core.CQEntry, 4)
	n := testing.AllocsPerRun(200, func() {
		must(t, w.b.Recv(in, 0, core.AddrUnspec, 1))
		must(t, w.a.Send(message, 0, 0, 1))
		must(t, w.b.TRecv(in, 0, core.AddrUnspec, 1, 0, 1))
		must(t, w.a.TSend(message, 0, 0, 1, 1))
		for _, q := range []*core.CompletionQueue{w.qa, w.qb} {
			if n, err := q.Read(got); n != 2 || err != nil {
				t.Fatal(n, err)
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
