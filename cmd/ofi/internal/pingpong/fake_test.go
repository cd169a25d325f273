package pingpong

import (
	"context"
	"net/netip"
	"slices"
	"sync"

	"gofabric/core"
)

// fakeNet is a fabric in memory with every endpoint of the process, by address. Methods that the test does not use
// are nil, and a call of one would panic.
type fakeNet struct {
	mu       sync.Mutex
	nextPort uint16
	eps      map[core.Addr]*fakeEP
	peps     map[core.Addr]*fakePEP

	inject  int
	maxMsg  int
	mrLocal bool
	again   int // every again-th post is refused once
	posts   int
	drop    func(payload []byte) []byte // may change or (nil) lose a message
	openEPs int
}

func newFakeNet() *fakeNet {
	return &fakeNet{nextPort: 7000, eps: map[core.Addr]*fakeEP{}, peps: map[core.Addr]*fakePEP{}, inject: 128, maxMsg: 1 << 30}
}

func (f *fakeNet) getInfo(h *core.Info) ([]*core.Info, error) {
	i := h.Dup()
	i.Caps |= core.CapDirectedRecv
	i.Mode, i.Domain.MRMode = 0, 0
	if f.mrLocal {
		i.Domain.MRMode = core.MRModeLocal
	}
	i.AddrFormat, i.EP.MaxMsgSize, i.Tx.InjectSize, i.Tx.Size, i.Rx.Size = core.FormatSockaddrIn, f.maxMsg, f.inject, 8, 8
	i.Fabric.ProvName, i.Domain.Name = "fake", "mem"
	return []*core.Info{i}, nil
}

func (f *fakeNet) openFabric(*core.Info) (*core.Fabric, error) {
	return core.NewFabric(&fakeFabric{net: f}), nil
}

// queue is a completion queue over q.
func queue(q *fakeCQ) *core.CompletionQueue {
	d, _ := core.NewFabric(&fakeFabric{net: q.net, cq: q}).OpenDomain(nil) // a fake opens without an error
	cq, _ := d.OpenCQ(core.CQAttr{})
	return cq
}

func (f *fakeNet) newAddr() core.Addr {
	f.nextPort++
	return core.IPAddr(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), f.nextPort))
}

type fakeFabric struct {
	core.FabricDriver
	net *fakeNet
	cq  *fakeCQ // the completion queue to open; nil for a new one
}

func (f *fakeFabric) Close() error { return nil }
func (f *fakeFabric) OpenEQ(core.EQAttr, core.WaitDriver) (core.EQDriver, error) {
	return &fakeEQ{ch: make(chan core.EQEvent, 8)}, nil
}
func (f *fakeFabric) OpenDomain(*core.Info) (core.DomainDriver, error) {
	return &fakeDomain{net: f.net, cq: f.cq}, nil
}
func (f *fakeFabric) OpenPassiveEndpoint(*core.Info, *core.PassiveEndpoint) (core.PassiveDriver, error) {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	return &fakePEP{net: f.net, name: f.net.newAddr()}, nil
}

type fakeEQ struct {
	core.EQDriver
	ch chan core.EQEvent
}

func (q *fakeEQ) Close() error { return nil }
func (q *fakeEQ) SRead(ctx context.Context, ev *core.EQEvent, _ core.EQFlags) error {
	select {
	case *ev = <-q.ch:
		return nil
	case <-ctx.Done():
		return core.ErrAgain
	}
}

type fakePEP struct {
	core.PassiveDriver
	net  *fakeNet
	name core.Addr
	eq   *fakeEQ
}

func (p *fakePEP) Close() error                                    { return nil }
func (p *fakePEP) BindEQ(eq core.EQDriver, _ core.BindFlags) error { p.eq = eq.(*fakeEQ); return nil }
func (p *fakePEP) Name() (core.Addr, error)                        { return p.name, nil }
func (p *fakePEP) Reject(core.Handle, []byte) error                { return nil }
func (p *fakePEP) Listen() error {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	p.net.peps[p.name] = p
	return nil
}

type fakeDomain struct {
	core.DomainDriver
	net *fakeNet
	cq  *fakeCQ
}

func (d *fakeDomain) Close() error { return nil }
func (d *fakeDomain) OpenCQ(core.CQAttr, core.WaitDriver) (core.CQDriver, error) {
	if d.cq != nil {
		return d.cq, nil
	}
	return &fakeCQ{net: d.net}, nil
}
func (d *fakeDomain) OpenAV(core.AVAttr, *core.AddressVector) (core.AVDriver, error) {
	return &fakeAV{}, nil
}
func (d *fakeDomain) RegMR(*core.MRAttr, core.AVDriver) (core.MRDriver, error) { return fakeMR{}, nil }
func (d *fakeDomain) OpenEndpoint(info *core.Info, self *core.Endpoint) (core.EndpointDriver, error) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	ep := &fakeEP{self: self, net: d.net, name: d.net.newAddr(), mr: d.net.mrLocal}
	if h, ok := info.Handle.(*fakeEP); ok {
		ep.peer, h.peer = h, ep
	}
	d.net.eps[ep.name] = ep
	d.net.openEPs++
	return ep, nil
}

type fakeMR struct{ core.MRDriver }

func (fakeMR) Close() error    { return nil }
func (fakeMR) Desc() core.Desc { return 77 }

type fakeAV struct {
	core.AVDriver
	list []core.Addr
}

func (v *fakeAV) Close() error { return nil }
func (v *fakeAV) Insert(a []core.Addr, fi []core.FIAddr, _ core.InsertFlags, _ ...any) (int, error) {
	for i := range a {
		fi[i] = core.FIAddr(len(v.list))
		v.list = append(v.list, a[i])
	}
	return len(a), nil
}

type fakeCQ struct {
	core.CQDriver
	net  *fakeNet
	n    int
	fail *core.CQErrEntry
}

func (q *fakeCQ) Close() error { return nil }
func (q *fakeCQ) Read(e []core.CQEntry, _ []core.FIAddr) (int, error) {
	q.net.mu.Lock()
	defer q.net.mu.Unlock()
	switch {
	case len(e) == 0 && q.fail != nil:
		return 0, nil // as libfabric does
	case q.fail != nil:
		return 0, core.ErrAvail
	case q.n == 0 || len(e) == 0:
		return 0, core.ErrAgain
	}
	q.n--
	return 1, nil
}

func (q *fakeCQ) ReadErr(e *core.CQErrEntry) error {
	q.net.mu.Lock()
	defer q.net.mu.Unlock()
	if q.fail == nil {
		return core.ErrAgain
	}
	*e, q.fail = *q.fail, nil
	return nil
}

type fakeEP struct {
	core.EndpointDriver
	self       *core.Endpoint
	net        *fakeNet
	name       core.Addr
	peer       *fakeEP
	eq         *fakeEQ
	av         *fakeAV
	tx, rx     *fakeCQ
	posted     [][]byte
	unexpected [][]byte
	mr         bool
}

func (e *fakeEP) Close() error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	e.net.openEPs--
	return nil
}
func (e *fakeEP) Name() (core.Addr, error) { return e.name, nil }
func (e *fakeEP) Enable() error            { return nil }
func (e *fakeEP) Shutdown() error          { return nil }
func (e *fakeEP) Bind(obj any, f core.BindFlags) error {
	switch x := obj.(type) {
	case *fakeEQ:
		e.eq = x
	case *fakeAV:
		e.av = x
	case *fakeCQ:
		if f&core.BindTransmit != 0 {
			e.tx = x
		} else {
			e.rx = x
		}
	default:
		return core.ErrInval
	}
	return nil
}

func (e *fakeEP) Connect(dest core.Addr, _ []byte) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	p := e.net.peps[dest]
	if p == nil {
		return core.ErrConnRefused
	}
	info := &core.Info{Caps: core.CapMsg, Handle: e, Tx: &core.TxAttr{Size: 8, InjectSize: e.net.inject}, Rx: &core.RxAttr{Size: 8},
		EP: &core.EPAttr{Type: core.EPTypeMsg, MaxMsgSize: e.net.maxMsg}, Domain: &core.DomainAttr{}, Fabric: &core.FabricAttr{}}
	if e.mr {
		info.Domain.MRMode = core.MRModeLocal
	}
	p.eq.ch <- core.EQEvent{Type: core.EventConnReq, Info: info}
	return nil
}

func (e *fakeEP) Accept([]byte) error {
	e.eq.ch <- core.EQEvent{Type: core.EventConnected, Object: e.self}
	e.peer.eq.ch <- core.EQEvent{Type: core.EventConnected, Object: e.peer.self}
	return nil
}

// refuse reports whether this post is to fail with ErrAgain.
func (e *fakeEP) refuse() bool {
	e.net.posts++
	return e.net.again > 0 && e.net.posts%e.net.again == 0
}

func (e *fakeEP) send(buf []byte, dest core.FIAddr, complete bool) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if e.refuse() {
		return core.ErrAgain
	}
	to := e.peer
	if to == nil {
		to = e.net.eps[e.av.list[dest]]
	}
	if complete {
		e.tx.n++
	}
	msg := slices.Clone(buf)
	if e.net.drop != nil {
		if msg = e.net.drop(msg); msg == nil {
			return nil
		}
	}
	to.unexpected = append(to.unexpected, msg)
	to.match()
	return nil
}

func (e *fakeEP) match() {
	for len(e.posted) > 0 && len(e.unexpected) > 0 {
		copy(e.posted[0], e.unexpected[0])
		e.posted, e.unexpected = e.posted[1:], e.unexpected[1:]
		e.rx.n++
	}
}

func (e *fakeEP) Recv(buf []byte, d core.Desc, _ core.FIAddr, _ core.OpContext) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if e.mr && d != 77 {
		return core.ErrInval
	}
	if e.refuse() {
		return core.ErrAgain
	}
	e.posted = append(e.posted, buf)
	e.match()
	return nil
}

func (e *fakeEP) TRecv(buf []byte, d core.Desc, s core.FIAddr, t, _ uint64, c core.OpContext) error {
	if t != tag {
		return core.ErrInval
	}
	return e.Recv(buf, d, s, c)
}

func (e *fakeEP) Send(buf []byte, d core.Desc, dest core.FIAddr, _ core.OpContext) error {
	if e.mr && d != 77 {
		return core.ErrInval
	}
	return e.send(buf, dest, true)
}
func (e *fakeEP) Inject(buf []byte, dest core.FIAddr) error { return e.send(buf, dest, false) }
func (e *fakeEP) TSend(buf []byte, d core.Desc, dest core.FIAddr, t uint64, c core.OpContext) error {
	if t != tag {
		return core.ErrInval
	}
	return e.Send(buf, d, dest, c)
}
func (e *fakeEP) TInject(buf []byte, dest core.FIAddr, t uint64) error {
	if t != tag {
		return core.ErrInval
	}
	return e.Inject(buf, dest)
}

// Post passes operations to the calls above that have no method of their own.
func (e *fakeEP) Post(op core.Op) error {
	if op.Call != core.CallSendMsg && op.Call != core.CallTSendMsg {
		panic(op.Call)
	}
	return e.send(op.IOV[0], op.Addr, true)
}
