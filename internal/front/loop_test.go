package front_test

// A provider as small as can be: two endpoints of one domain whose connections hand their bytes to each other.

import (
	"net/netip"
	"slices"
	"testing"

	"gofabric/core"
	"gofabric/internal/front"
	"gofabric/internal/progress"
	"gofabric/internal/xnet/engine"
)

var names = front.Names{Provider: "loop", Hints: map[core.Errno]string{core.ErrTimedOut: "wait longer"}}

type fabric struct{ front.Fabric }

func (f *fabric) OpenDomain(*core.Info) (core.Domain, error) { return nil, core.ErrNoSys }
func (f *fabric) OpenPassiveEndpoint(*core.Info) (core.PassiveEndpoint, error) {
	return nil, core.ErrNoSys
}

type domain struct {
	front.Domain
	forgotten []uint64
}

func (d *domain) OpenEndpoint(*core.Info) (core.Endpoint, error) { return nil, core.ErrNoSys }
func (d *domain) OpenSRX(*core.RxAttr) (core.SharedRx, error)    { return nil, core.ErrNoSys }
func (d *domain) open(t testing.TB, info *core.Info) *endpoint   { return newEndpoint(t, d, info) }
func (d *domain) locked(f func())                                { d.Progress().Lock(); defer d.Progress().Unlock(); f() }
func (d *domain) queue(t testing.TB) *front.CompletionQueue {
	return opened(t, d.OpenCQ, core.CQAttr{Format: core.CQFormatTagged}).(*front.CompletionQueue)
}
func (d *domain) counter(t testing.TB) core.Counter      { return opened(t, d.OpenCounter, core.CntrAttr{}) }
func (d *domain) vector(t testing.TB) core.AddressVector { return opened(t, d.OpenAV, core.AVAttr{}) }

func opened[A, O any](t testing.TB, open func(A) (O, error), attr A) O {
	t.Helper()
	o, err := open(attr)
	must(t, err)
	return o
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// endpoint is connected to its peer from the start.
type endpoint struct {
	front.Endpoint
	front.Transmitter
	front.Receiver
	front.Connectionless
	front.NoConnections
	t    testing.TB
	d    *domain
	rx   *engine.RxContext
	conn *engine.Conn
	peer *endpoint
	more int  // how often another post was announced
	held bool // what is posted stays here
}

func testInfo(caps core.Flags) *core.Info {
	return &core.Info{Caps: caps, Tx: &core.TxAttr{InjectSize: 64, Size: 32}, Rx: &core.RxAttr{Size: 32}, EP: &core.EPAttr{Type: core.EPTypeRDM, MaxMsgSize: 1 << 20},
		Domain: &core.DomainAttr{Name: "d0"}, Fabric: &core.FabricAttr{Name: "f0"}}
}

const allCaps = core.CapMsg | core.CapTagged | core.CapRMA | core.CapMultiRecv | core.CapTrigger | core.Send | core.Recv | core.Read | core.Write | core.RemoteRead | core.RemoteWrite

func newFabric() *fabric {
	f := &fabric{}
	f.InitFabric(&names, testInfo(allCaps))
	return f
}

func newDomain(t testing.TB, f *fabric) *domain { return newDomainOf(t, f, allCaps) }

func newDomainOf(t testing.TB, f *fabric, caps core.Flags) *domain {
	t.Helper()
	d := &domain{}
	prog := progress.NewVirtual(false)
	d.InitDomain(front.DomainConfig{Names: &names, Fabric: f, Info: testInfo(caps), Progress: prog, Forget: func(k uint64) { d.forgotten = append(d.forgotten, k) }, Down: prog.Close})
	return d
}

func newEndpoint(t testing.TB, d *domain, info *core.Info) *endpoint {
	e := &endpoint{t: t, d: d}
	e.InitEndpoint(&d.Domain, info, func(uint64) (netip.AddrPort, netip.AddrPort) {
		return front.NoPeer, netip.MustParseAddrPort("10.0.0.2:7")
	})
	e.rx = engine.NewRxContext(d.Pool(), front.RxSink{Endpoint: &e.Endpoint})
	front.RxLimits{Bytes: 1 << 20}.Apply(e.rx, info.Rx)
	e.InitTransmitter(&e.Endpoint, e)
	e.InitReceiver(&e.Endpoint, e.rx, e.CanReceive, false)
	e.conn = engine.NewReady(d.Pool(), &engine.Config{StageMax: 4096, StageLimit: 1 << 16, TxDepth: 32, RendezvousOver: 1 << 40, InternalMax: 64}, e.rx, d, e)
	e.Opened(front.Unobserved{})
	return e
}

// Route and Posted implement front.Router.
func (e *endpoint) Route(dest core.FIAddr) (*engine.Conn, error) {
	if dest != 0 {
		return nil, core.ErrHostUnreach
	}
	return e.conn, nil
}

func (e *endpoint) Posted(_ *engine.Conn, more bool) {
	if more {
		e.more++
		return
	}
	if e.held {
		return
	}
	e.pump()
}

// pump carries bytes until neither end has any.
func (e *endpoint) pump() {
	var space [8][]byte
	for quiet := 0; quiet < 2; e, quiet = e.peer, quiet+1 {
		for e.conn.HasPending() {
			first, list := e.conn.Pending(space[:0], 1<<16)
			if first != nil {
				list = append(space[:0], first)
			}
			n := 0
			for _, b := range list {
				n += len(b)
				for len(b) > 0 {
					k := copy(e.peer.conn.Target(), b)
					if b = b[k:]; k > 0 {
						e.peer.conn.Receive(k, nil)
					} else {
						e.peer.conn.Receive(0, b)
						b = nil
					}
				}
			}
			e.conn.Transmitted(n)
			quiet = 0
		}
	}
}

func (e *endpoint) Enable() error {
	e.d.Progress().Lock()
	defer e.d.Progress().Unlock()
	if err := e.CheckEnable(0); err != nil {
		return err
	}
	e.SetEnabled()
	return nil
}

func (e *endpoint) Alias(flags core.Flags) (core.Endpoint, error) {
	return e.OpenAlias(e, &e.Transmitter, &e.Receiver, flags)
}

func (e *endpoint) Close() error {
	e.d.Progress().Lock()
	if err := e.BeginClose(); err != nil {
		e.d.Progress().Unlock()
		return err
	}
	e.conn.Drop(engine.ErrClosed)
	e.rx.Release()
	e.d.Progress().Unlock()
	e.Unbind()
	return nil
}

func (e *endpoint) Cancel(core.Context) error              { return core.ErrNoEnt }
func (e *endpoint) Name() (core.Addr, error)               { return core.Addr{}, core.ErrNoSys }
func (e *endpoint) SetName(core.Addr) error                { return core.ErrNoSys }
func (e *endpoint) GetOpt(opt core.EPOpt) (int, error)     { return e.Option(e.rx, opt) }
func (e *endpoint) SetOpt(opt core.EPOpt, value int) error { return e.SetOption(e.rx, opt, value) }

// world is two endpoints with a queue each.
type world struct {
	f    *fabric
	d    *domain
	a, b *endpoint
	qa   *front.CompletionQueue
	qb   *front.CompletionQueue

	bound []core.Object // what a test has bound: closed after the endpoints
}

func newWorld(t testing.TB, caps core.Flags, bind core.Flags) *world {
	t.Helper()
	w := &world{f: newFabric()}
	w.d = newDomain(t, w.f)
	w.a, w.b = w.d.open(t, testInfo(caps)), w.d.open(t, testInfo(caps))
	w.a.peer, w.b.peer = w.b, w.a
	w.qa, w.qb = w.d.queue(t), w.d.queue(t)
	for e, q := range map[*endpoint]core.CompletionQueue{w.a: w.qa, w.b: w.qb} {
		must(t, e.BindCQ(q, core.Transmit|core.Recv|bind))
		must(t, e.Enable())
	}
	t.Cleanup(func() {
		for _, o := range slices.Concat([]core.Object{w.a, w.b, w.qa, w.qb}, w.bound, []core.Object{w.d, w.f}) {
			must(t, o.Close())
		}
	})
	return w
}

// next takes the one completion that is there.
func next(t testing.TB, q core.CompletionQueue) core.CQEntry {
	t.Helper()
	var e [2]core.CQEntry
	n, err := q.Read(e[:])
	if n != 1 || err != nil {
		t.Fatalf("%d completions, %v; want one", n, err)
	}
	return e[0]
}

func none(t testing.TB, q core.CompletionQueue) {
	t.Helper()
	var e [1]core.CQEntry
	if n, err := q.Read(e[:]); n > 0 || err != core.ErrAgain {
		t.Fatalf("%d completions, %v: %+v; want none", n, err, e)
	}
}
