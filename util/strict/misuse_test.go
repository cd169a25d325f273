package strict_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/conform"
)

func TestMain(m *testing.M) { conform.Main(m) }

// offers is what a well-behaved application offers.
const (
	offerModes = core.ModeContext | core.ModeContext2 | core.ModeAsyncIOV | core.ModeMsgPrefix
	offerMR    = core.MRModeLocal | core.MRModeVirtAddr | core.MRModeAllocated | core.MRModeProvKey | core.MRModeEndpoint
)

// stack is a stack under a profile, for an application that offers all modes.
func stack(t *testing.T, profile, provider string, ep core.EPType, seed string) conform.Stack {
	st := conform.Over(t, conform.Stack{Name: profile, Provider: provider, EPType: ep},
		map[string]string{"FI_STRICT": profile, "FI_STRICT_SEED": seed})
	getInfo := st.GetInfo
	st.GetInfo = func(node, service string, flags core.InfoFlags, hints *core.Info) ([]*core.Info, error) {
		h := hints.Dup()
		h.Mode |= offerModes
		h.Domain.MRMode |= offerMR
		return getInfo(node, service, flags, h)
	}
	return st
}

const all = core.AccessSend | core.AccessRecv | core.AccessRead | core.AccessWrite

// misuse is a mistake of an application, the error that it gets, and a part of the error's text.
type misuse struct {
	name string
	caps core.Caps
	do   func(p *conform.Pair) error
	want core.Errno
	text string
}

// reg registers memory until the end of the test. Operations that use it end with their endpoint.
func reg(p *conform.Pair, s *conform.Side, buf []byte, access core.Access) *core.MemoryRegion {
	r := s.Reg(buf, access)
	p.T.Cleanup(func() {
		if errors.Is(r.Close(), core.ErrBusy) {
			s.EP.Close()
			s.EP = nil
			r.Close()
		}
	})
	return r
}

// sendOf registers b and sends it.
func sendOf(p *conform.Pair, b []byte, ctx core.OpContext) error {
	return p.A.EP.Send(b, reg(p, p.A, b, all).Desc(), p.A.Peer, ctx)
}

// accessTo writes 8 bytes with an inject, which needs no registration.
func accessTo(p *conform.Pair, addr, key uint64) error {
	return p.TryPost(func() error { return p.A.EP.InjectWrite(make([]byte, 8), p.A.Peer, addr, key) })
}

var (
	unregistered = misuse{"unregistered", 0, func(p *conform.Pair) error { return p.A.EP.Send(make([]byte, 64), 0, p.A.Peer, 1) }, core.ErrInval, "FI_MR_LOCAL"}
	garbage      = misuse{"garbage desc", 0, func(p *conform.Pair) error { return p.A.EP.Send(make([]byte, 64), 7, p.A.Peer, 1) }, core.ErrInval, "is not a descriptor"}
	foreign      = misuse{"foreign desc", 0, func(p *conform.Pair) error {
		b := make([]byte, 64)
		return p.A.EP.Send(b, reg(p, p.B, b, core.AccessSend).Desc(), p.A.Peer, 1)
	}, core.ErrInval, "another domain"}
	outside = misuse{"outside", 0, func(p *conform.Pair) error {
		return p.A.EP.Send(make([]byte, 64), reg(p, p.A, make([]byte, 64), all).Desc(), p.A.Peer, 1)
	}, core.ErrInval, "not inside the memory region"}
	rights = misuse{"rights", 0, func(p *conform.Pair) error {
		b := make([]byte, 64)
		return p.A.EP.Send(b, reg(p, p.A, b, core.AccessRecv).Desc(), p.A.Peer, 1)
	}, core.ErrAccess, "registered for"}
	busy = misuse{"region in use", 0, func(p *conform.Pair) error {
		b := make([]byte, 64)
		r := reg(p, p.A, b, all)
		p.A.EP.Recv(b, r.Desc(), core.AddrUnspec, 1)
		return r.Close()
	}, core.ErrBusy, "have not completed"}
	inject = misuse{"inject", 0, func(p *conform.Pair) error {
		return p.A.EP.Inject(make([]byte, p.A.Info.Tx.InjectSize+1), p.A.Peer)
	}, core.ErrInval, "inject_size"}
	manyIOV = misuse{"iov", 0, func(p *conform.Pair) error {
		return p.A.EP.SendV(make([][]byte, p.A.Info.Tx.IOVLimit+1), nil, p.A.Peer, 1)
	}, core.ErrInval, "iov_limit"}
	longData = misuse{"data", 0, func(p *conform.Pair) error {
		return p.A.EP.SendData(nil, 0, 1<<32, p.A.Peer, 1)
	}, core.ErrInval, "cq_data_size"}
	longTag = misuse{"tag", core.CapTagged, func(p *conform.Pair) error { return p.A.EP.TSend(nil, 0, p.A.Peer, 1<<63, 1) }, core.ErrInval, "mem_tag_format"}
	unknown = misuse{"address", 0, func(p *conform.Pair) error { return p.A.EP.Send(nil, 0, 77, 1) }, core.ErrInval, "not in the address vector"}
	noCaps  = misuse{"caps", 0, func(p *conform.Pair) error { return p.A.EP.Read(nil, 0, p.A.Peer, 0, 1, 1) }, core.ErrNoSys, "FI_RMA was not among"}
	context = misuse{"context", 0, func(p *conform.Pair) error {
		b := make([]byte, 64)
		d := reg(p, p.A, b, all).Desc()
		p.A.EP.Recv(b[:8], d, core.AddrUnspec, 99)
		return p.A.EP.Recv(b[8:], d, core.AddrUnspec, 99)
	}, core.ErrInval, "has not completed"}
	counters = misuse{"counter", 0, func(p *conform.Pair) error {
		_, err := p.A.Domain.OpenCounter(core.CntrAttr{})
		return err
	}, core.ErrNoSys, "cntr_cnt"}
	longKey = misuse{"key", core.CapRMA, func(p *conform.Pair) error {
		_, err := p.A.Domain.RegMR(&core.MRAttr{IOV: [][]byte{make([]byte, 8)}, Access: core.AccessRemoteRead, RequestedKey: 1 << 40})
		return err
	}, core.ErrKeyRejected, "mr_key_size"}
	remoteKey = misuse{"remote key", core.CapRMA, func(p *conform.Pair) error {
		r := reg(p, p.B, make([]byte, 64), all|core.AccessRemoteRead|core.AccessRemoteWrite)
		return accessTo(p, r.Base(), r.Key()^0x55)
	}, core.ErrKeyRejected, "has no open memory region with the key"}
	closedKey = misuse{"closed remote region", core.CapRMA, func(p *conform.Pair) error {
		r := p.B.Reg(make([]byte, 64), all|core.AccessRemoteWrite)
		base, key := r.Base(), r.Key()
		if err := r.Close(); err != nil {
			return err
		}
		return accessTo(p, base, key)
	}, core.ErrKeyRejected, "On hardware: "}
	remoteRange = misuse{"remote range", core.CapRMA, func(p *conform.Pair) error {
		r := reg(p, p.B, make([]byte, 64), all|core.AccessRemoteWrite)
		return errors.Join(accessTo(p, r.Base()+56, r.Key()), accessTo(p, r.Base()+57, r.Key()))
	}, core.ErrAccess, "does not hold all of the 8 bytes"}
	remoteRight = misuse{"remote right", core.CapRMA, func(p *conform.Pair) error {
		r := reg(p, p.B, make([]byte, 64), all|core.AccessRemoteRead)
		return accessTo(p, r.Base(), r.Key())
	}, core.ErrAccess, "this operation needs FI_REMOTE_WRITE"}
	cancel = misuse{"cancel", 0, func(p *conform.Pair) error { return p.A.EP.Cancel(1) }, core.ErrNoSys, "cannot cancel"}
	early  = misuse{"not enabled", 0, func(p *conform.Pair) error {
		ep, err := p.A.Domain.OpenEndpoint(p.A.Info)
		if err != nil {
			return err
		}
		defer ep.Close()
		return ep.Send(nil, 0, 0, 1)
	}, core.ErrOpBadState, "not enabled"}
	closed = misuse{"closed", 0, func(p *conform.Pair) error {
		ep, err := p.A.Domain.OpenEndpoint(p.A.Info)
		if err != nil {
			return err
		}
		ep.Close()
		return ep.Send(nil, 0, 0, 1)
	}, core.ErrBadF, "is closed"}
	short = misuse{"prefix", 0, func(p *conform.Pair) error {
		b := make([]byte, 39)
		return sendOf(p, b, 1)
	}, core.ErrTooSmall, "msg_prefix_size"}
)

// TestMisuse checks what each profile refuses, and the texts of the errors.
func TestMisuse(t *testing.T) {
	local := []misuse{unregistered, garbage, foreign, outside, rights, busy}
	common := []misuse{inject, manyIOV, noCaps, early, closed, remoteKey, closedKey, remoteRange, remoteRight}
	rdm := append([]misuse{unknown}, common...)
	join := func(lists ...[]misuse) (l []misuse) {
		for _, x := range lists {
			l = append(l, x...)
		}
		return l
	}
	for _, tt := range []struct {
		profile, provider string
		ep                core.EPType
		list              []misuse
	}{
		{"verbs", "tcp", core.EPTypeMsg, join(local, common, []misuse{longData, counters, cancel})},
		{"verbs", "tcp", core.EPTypeRDM, rdm},
		{"efa", "tcp", core.EPTypeRDM, join(local, rdm, []misuse{longData, counters})},
		{"efa", "udp", core.EPTypeDgram, []misuse{short, counters}},
		{"efa-direct", "tcp", core.EPTypeRDM, join(local, rdm, []misuse{longData, context})},
		{"cxi", "tcp", core.EPTypeRDM, join(rdm, []misuse{longTag})},
		{"psm3", "tcp", core.EPTypeRDM, join(rdm, []misuse{longData, longTag, context})},
		{"opx", "tcp", core.EPTypeRDM, join(rdm, []misuse{longData, longKey, context, counters})},
		{"all", "udp;ofi_rxd", core.EPTypeRDM, join(local, rdm, []misuse{context})},
	} {
		t.Run(tt.profile+" "+tt.provider+" "+tt.ep.String(), func(t *testing.T) {
			st := stack(t, tt.profile, tt.provider, tt.ep, "1")
			for _, m := range tt.list {
				t.Run(m.name, func(t *testing.T) {
					p := conform.Open(t, st, conform.WithCaps(m.caps))
					err := m.do(p)
					if !errors.Is(err, m.want) || !strings.Contains(err.Error(), m.text) {
						t.Errorf("%v; want %v and %q", err, m.want, m.text)
					}
					if tt.ep != core.EPTypeDgram { // the other side makes no progress while this side closes
						p.A.EP.SetOpt(core.OptLinger, 0)
					}
					p.Forget()
				})
			}
		})
	}
}

// TestDemands: an application that does not offer what a profile demands gets no Info, and the error gives the
// reason.
func TestDemands(t *testing.T) {
	for _, tt := range []struct {
		profile string
		ep      core.EPType
		hints   func(h *core.Info)
		text    string
	}{
		{"verbs", core.EPTypeMsg, func(*core.Info) {}, "mr_mode FI_MR_LOCAL"},
		{"psm3", core.EPTypeRDM, func(*core.Info) {}, "[FI_CONTEXT] is required"},
		{"opx", core.EPTypeRDM, func(h *core.Info) { h.Mode = core.ModeContext2 }, "[FI_ASYNC_IOV] is required"},
		{"cxi", core.EPTypeMsg, func(*core.Info) {}, "has no FI_EP_MSG endpoints"},
		{"efa", core.EPTypeRDM, func(h *core.Info) { h.Domain.DataProgress = core.ProgressAuto }, "progress"},
		{"cxi", core.EPTypeRDM, func(h *core.Info) { h.Tx.IOVLimit = 2 }, "iov_limit"},
	} {
		st := conform.Over(t, conform.Stack{Name: tt.profile, Provider: "tcp"}, map[string]string{"FI_STRICT": tt.profile})
		h := core.NewHints()
		h.Caps, h.EP.Type, h.Fabric.ProvName = core.CapMsg, tt.ep, "tcp;^ofi_rxm;^ofi_rxd"
		tt.hints(h)
		if _, err := st.GetInfo("", "", 0, h); !errors.Is(err, core.ErrNoData) ||
			!strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v; want %q", tt.profile, err, tt.text)
		}
	}
}

// TestVectorType: efa's providers make tables of all address vectors, even if the application asks for a map. The
// Info shows this.
func TestVectorType(t *testing.T) {
	for _, tt := range []struct {
		profile, provider string
		ep                core.EPType
	}{{"efa", "tcp", core.EPTypeRDM}, {"efa", "udp", core.EPTypeDgram}, {"efa-direct", "tcp", core.EPTypeRDM}} {
		for _, asked := range []core.AVType{core.AVUnspec, core.AVMap, core.AVTable} {
			p := conform.Open(t, stack(t, tt.profile, tt.provider, tt.ep, "1"), conform.WithHints(func(h *core.Info) { h.Domain.AVType = asked }))
			if got := p.A.Info.Domain.AVType; got != core.AVTable {
				t.Errorf("%s %s: %s asked for, the info has %s", tt.profile, tt.ep, asked, got)
			}
			av, err := p.A.Domain.OpenAV(core.AVAttr{Type: asked})
			if err != nil {
				t.Fatal(err)
			}
			if got := av.Attr().Type; got != core.AVTable {
				t.Errorf("%s %s: %s asked for, the vector is %s", tt.profile, tt.ep, asked, got)
			}
			if err := av.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// fails reads q until an error entry comes.
func fails(t *testing.T, p *conform.Pair, q *core.CompletionQueue) core.CQErrEntry {
	t.Helper()
	var e core.CQErrEntry
	for end := time.Now().Add(conform.Deadline); time.Now().Before(end); p.B.Pump() {
		if _, err := q.Read(make([]core.CQEntry, 8)); errors.Is(err, core.ErrAvail) {
			if err := q.ReadErr(&e); err != nil {
				t.Fatal(err)
			}
			return e
		}
	}
	t.Fatal("the queue has no error entry")
	return e
}

// TestRefusedElsewhere: the hook does not know regions of a target that does not use it. The target refuses the
// access, and the error entry says what hardware would do.
func TestRefusedElsewhere(t *testing.T) {
	p := conform.Open(t, stack(t, "efa", "tcp", core.EPTypeRDM, "1"), conform.WithCaps(core.CapRMA))
	plain := conform.Open(t, conform.Over(t, conform.Stack{Name: "plain", Provider: "tcp", EPType: core.EPTypeRDM}, nil), conform.WithCaps(core.CapRMA))
	mem := make([]byte, 64)
	r := plain.B.Reg(mem, all|core.AccessRemoteWrite)
	there := p.A.Insert(plain.B.Addr)
	b := make([]byte, 8)
	desc := reg(p, p.A, b, all).Desc()
	const hardware = "; on hardware: the remote side answers EFA_IO_COMP_STATUS_REMOTE_ERROR_BAD_ADDRESS"
	for _, post := range []func() error{
		func() error { return p.A.EP.Write(b, desc, there, r.Base(), r.Key()^0x55, 1) },
		func() error { return p.A.EP.InjectWrite(b, there, r.Base(), r.Key()^0x55) },
		func() error { return p.A.EP.Read(b, desc, there, r.Base(), r.Key()^0x55, 1) },
	} {
		p.Retry("access", post)
		e := fails(t, p, p.A.TxCQ)
		if e.Err != core.ErrKeyRejected || !strings.Contains(e.Detail, "refused by the peer: it has no open memory region with the key") || !strings.HasSuffix(e.Detail, hardware) {
			t.Errorf("%v: %s", e.Err, e.Detail)
		}
	}
	p.Forget()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestChangedBuffer: the completion of an operation is an error if its buffer changed before.
func TestChangedBuffer(t *testing.T) {
	p := conform.Open(t, stack(t, "efa", "tcp", core.EPTypeRDM, "1"))
	b := make([]byte, 64)
	desc := reg(p, p.A, b, all).Desc()
	p.Retry("send", func() error { return p.A.EP.Send(b, desc, p.A.Peer, 5) })
	b[9] = 1
	if e := fails(t, p, p.A.TxCQ); e.Ctx != 5 || !strings.Contains(e.Detail, "changed before the operation completed") {
		t.Errorf("%+v", e)
	}
	p.Forget()
}

// TestQueueFull: a queue accepts no more operations than its depth.
func TestQueueFull(t *testing.T) {
	p := conform.Open(t, stack(t, "cxi", "tcp", core.EPTypeRDM, "1"), conform.WithHints(func(h *core.Info) { h.Tx.Size = 4 }))
	for i := range 4 {
		if err := p.A.EP.Send(nil, 0, p.A.Peer, core.OpContext(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.A.EP.Send(nil, 0, p.A.Peer, 5); err != core.ErrAgain {
		t.Errorf("send into a full queue: %v; want ErrAgain", err)
	}
	p.Retry("send, with progress", func() error { return p.A.EP.Send(nil, 0, p.A.Peer, 6) })
	p.Forget()
}

// TestOrder: messages without ordering arrive in another order, and messages with ordering do not.
func TestOrder(t *testing.T) {
	const n = 32
	for _, order := range []core.Order{0, core.OrderSAS} {
		p := conform.Open(t, stack(t, "cxi", "tcp", core.EPTypeRDM, "3"), conform.WithHints(func(h *core.Info) { h.Tx.MsgOrder, h.Rx.MsgOrder = order, order }))
		var in, out [n][1]byte
		for i := range n {
			out[i][0] = byte(i)
			p.Retry("recv", func() error { return p.B.EP.Recv(in[i][:], 0, core.AddrUnspec, core.OpContext(100+i)) })
		}
		for i := range n {
			p.Retry("send", func() error { return p.A.EP.Send(out[i][:], 0, p.A.Peer, core.OpContext(1+i)) })
		}
		for i := range n {
			p.Want(p.A, core.OpContext(1+i))
			p.Want(p.B, core.OpContext(100+i))
		}
		if same := in == out; same != (order != 0) {
			t.Errorf("order %v: messages in order: %v", order, same)
		}
		p.Close()
	}
}

// TestRemoteDataConsumes: the remote CQ data of a write consumes a posted receive.
func TestRemoteDataConsumes(t *testing.T) {
	p := conform.Open(t, stack(t, "verbs", "tcp", core.EPTypeMsg, "1"), conform.WithCaps(core.CapRMA))
	src, dst, in := make([]byte, 16), make([]byte, 16), make([]byte, 16)
	ra, rb, ri := reg(p, p.A, src, all), reg(p, p.B, dst, all|core.AccessRemoteWrite), reg(p, p.B, in, all)
	if rb.Key()>>32 != 0 {
		t.Errorf("key %#x has more than 4 bytes", rb.Key())
	}
	p.Retry("recv", func() error { return p.B.EP.Recv(in, ri.Desc(), core.AddrUnspec, 50) })
	p.Retry("writedata", func() error {
		return p.A.EP.WriteData(src, ra.Desc(), 0x77, p.A.Peer, rb.Base(), rb.Key(), 60)
	})
	p.Want(p.A, 60)
	if g := p.Want(p.B, 50); g.Flags&core.CompRemoteCQData == 0 || g.Data != 0x77 {
		t.Errorf("got %v", g)
	}
}

// TestPrefix: messages begin with the provider's prefix, which is part of their length (fi_cq(3)). A queue without
// resource management overruns.
func TestPrefix(t *testing.T) {
	p := conform.Open(t, stack(t, "efa", "udp", core.EPTypeDgram, "1"), conform.WithCQ(core.CQAttr{Size: 4, Format: core.CQFormatTagged, WaitObj: core.WaitUnspec}))
	pre := p.A.Info.EP.MsgPrefixSize
	if pre != 40 || p.A.Info.Mode&core.ModeMsgPrefix == 0 {
		t.Fatalf("prefix %d, mode %v", pre, p.A.Info.Mode)
	}
	out, in := make([]byte, pre+8), make([]byte, pre+8)
	copy(out[pre:], "prefixed")
	ra, rb := reg(p, p.A, out, all), reg(p, p.B, in, all)
	p.Retry("recv", func() error { return p.B.EP.Recv(in, rb.Desc(), core.AddrUnspec, 1) })
	p.Retry("send", func() error { return p.A.EP.Send(out, ra.Desc(), p.A.Peer, 2) })
	p.Want(p.A, 2)
	if g := p.Want(p.B, 1); g.Len != pre+8 || string(in[pre:]) != "prefixed" || &g.Buf[0] != &in[0] {
		t.Errorf("got %v: %q", g, in)
	}
	for i := range 5 {
		p.Retry("send", func() error { return p.A.EP.Send(out, ra.Desc(), p.A.Peer, core.OpContext(10+i)) })
	}
	if e := fails(t, p, p.A.TxCQ); e.Err != core.ErrOverrun || !strings.Contains(e.Detail, "FI_RM_DISABLED") {
		t.Errorf("%+v; want an overrun", e)
	}
	p.Forget()
}
