package endpoint_test

// This file is a minimal provider. Two endpoints of one domain have connections that pass their bytes to each other
// directly.

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/endpoint"
	"gofabric/internal/progress"
	"gofabric/internal/xnet/engine"
)

var names = endpoint.Names{Provider: "loop", Hints: map[core.Errno]string{core.ErrTimedOut: "wait longer"}}

type loopFabric struct{ endpoint.Fabric }

func (f *loopFabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	d := &loopDomain{}
	prog := progress.NewVirtual(false)
	d.InitDomain(endpoint.DomainConfig{Names: &names, Fabric: f, Info: info, Progress: prog,
		Limits: endpoint.RxLimits{Bytes: 1 << 20}, Linger: 10 * time.Second, Down: prog.Close})
	return d, nil
}

type loopDomain struct {
	endpoint.Domain
	forgotten []uint64
	scalable  *loopEP // below the latest scalable endpoint
}

func (d *loopDomain) OpenEndpoint(info *core.Info, _ *core.Endpoint) (core.EndpointDriver, error) {
	return newLoopEP(d, info), nil
}

// domain is a domain with its driver.
type domain struct {
	*core.Domain
	drv *loopDomain
}

func (d *domain) open(t testing.TB, info *core.Info) *loopEndpoint {
	t.Helper()
	ep := opened(t, d.OpenEndpoint, info)
	return &loopEndpoint{ep, ep.Driver().(*loopEP)}
}
func (d *domain) locked(f func()) { d.drv.Progress().Lock(); defer d.drv.Progress().Unlock(); f() }
func (d *domain) queue(t testing.TB) *core.CompletionQueue {
	return opened(t, d.OpenCQ, core.CQAttr{Format: core.CQFormatTagged})
}
func (d *domain) counter(t testing.TB) *core.Counter {
	return opened(t, d.OpenCounter, core.CntrAttr{})
}
func (d *domain) vector(t testing.TB) *core.AddressVector { return opened(t, d.OpenAV, core.AVAttr{}) }

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

// endpoint is an endpoint with its driver.
type loopEndpoint struct {
	*core.Endpoint
	drv *loopEP
}

// loopEP is a driver that is connected to its peer from the start.
type loopEP struct {
	endpoint.Reliable
	endpoint.Connectionless
	endpoint.NoConnections
	d     *loopDomain
	conn  *engine.Conn
	peer  *loopEP
	more  int  // posts with FI_MORE
	held  bool // bytes are not passed on
	shown int  // connections that telemetry sees
}

func testInfo(caps core.Caps) *core.Info {
	return &core.Info{Caps: caps, Tx: &core.TxAttr{InjectSize: 64, Size: 32}, Rx: &core.RxAttr{Size: 32},
		EP: &core.EPAttr{Type: core.EPTypeRDM, MaxMsgSize: 1 << 20}, Domain: &core.DomainAttr{Name: "d0"},
		Fabric: &core.FabricAttr{Name: "f0"}}
}

const allCaps = core.CapMsg | core.CapTagged | core.CapRMA | core.CapMultiRecv | core.CapTrigger | core.CapSend |
	core.CapRecv | core.CapRead | core.CapWrite | core.CapRemoteRead | core.CapRemoteWrite

func newFabric() *core.Fabric {
	f := &loopFabric{}
	f.InitFabric(&names, testInfo(allCaps))
	return core.NewFabric(f)
}

func newDomain(t testing.TB, f *core.Fabric) *domain { return newDomainOf(t, f, allCaps) }

func newDomainOf(t testing.TB, f *core.Fabric, caps core.Caps) *domain {
	t.Helper()
	d := opened(t, f.OpenDomain, testInfo(caps))
	return &domain{d, d.Driver().(*loopDomain)}
}

func newLoopEP(d *loopDomain, info *core.Info) *loopEP {
	e := &loopEP{d: d}
	ends := func(uint64) (netip.AddrPort, netip.AddrPort) {
		return endpoint.NoPeer, netip.MustParseAddrPort("10.0.0.2:7")
	}
	if err := e.InitReliable(&d.Domain, info, ends, endpoint.RxSink{Endpoint: &e.Endpoint}, e,
		e.CanReceive); err != nil {
		panic(err)
	}
	e.conn = engine.NewReady(d.Pool(), &engine.Config{StageMax: 4096, StageLimit: 1 << 16, TxDepth: 32,
		RendezvousOver: 1 << 40, InternalMax: 64}, e.Own, d, e)
	e.Opened(e)
	return e
}

// Route and Posted implement endpoint.Router.
func (e *loopEP) Route(dest core.FIAddr) (*engine.Conn, error) {
	if dest != 0 {
		return nil, core.ErrHostUnreach
	}
	return e.conn, nil
}

func (e *loopEP) Posted(_ *engine.Conn, more bool) *batch.Stream {
	switch {
	case more:
		e.more++
	case !e.held:
		e.pump()
	}
	return nil
}

// pump passes bytes until neither end has any.
func (e *loopEP) pump() {
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

func (e *loopEP) Enable() error {
	e.d.Progress().Lock()
	defer e.d.Progress().Unlock()
	if err := e.CheckEnable(0); err != nil {
		return err
	}
	e.SetEnabled()
	return nil
}

func (e *loopEP) Conns(yield func(*engine.Conn) bool) { yield(e.conn) }

func (e *loopEP) Forget(key uint64) {
	e.d.forgotten = append(e.d.forgotten, key)
	e.Reliable.Forget(key)
}

func (e *loopEP) Close() error {
	e.d.Progress().Lock()
	if err := e.BeginClose(); err != nil {
		e.d.Progress().Unlock()
		return err
	}
	e.conn.Drop(engine.ErrClosed)
	e.EndRx()
	e.d.Progress().Unlock()
	e.Unbind()
	return nil
}

func (e *loopEP) Name() (core.Addr, error) { return core.Addr{}, core.ErrNoSys }
func (e *loopEP) SetName(core.Addr) error  { return core.ErrNoSys }

// world is two endpoints with a queue each.
type world struct {
	f    *core.Fabric
	d    *domain
	a, b *loopEndpoint
	qa   *core.CompletionQueue
	qb   *core.CompletionQueue

	bound []core.Object // objects that a test has bound: they close after the endpoints
}

func newWorld(t testing.TB, caps core.Caps, bind core.BindFlags) *world {
	t.Helper()
	w := &world{f: newFabric()}
	w.d = newDomain(t, w.f)
	w.a, w.b = w.d.open(t, testInfo(caps)), w.d.open(t, testInfo(caps))
	w.a.drv.peer, w.b.drv.peer = w.b.drv, w.a.drv
	w.qa, w.qb = w.d.queue(t), w.d.queue(t)
	for e, q := range map[*loopEndpoint]*core.CompletionQueue{w.a: w.qa, w.b: w.qb} {
		must(t, e.BindCQ(q, core.BindTransmit|core.BindRecv|bind))
		must(t, e.Enable())
	}
	t.Cleanup(func() {
		for _, o := range slices.Concat([]core.Object{w.a, w.b, w.qa, w.qb}, w.bound, []core.Object{w.d, w.f}) {
			must(t, o.Close())
		}
	})
	return w
}

// next returns the one completion in the queue.
func next(t testing.TB, q *core.CompletionQueue) core.CQEntry {
	t.Helper()
	var e [2]core.CQEntry
	n, err := q.Read(e[:])
	if n != 1 || err != nil {
		t.Fatalf("%d completions, %v; want one", n, err)
	}
	return e[0]
}

func none(t testing.TB, q *core.CompletionQueue) {
	t.Helper()
	var e [1]core.CQEntry
	if n, err := q.Read(e[:]); n > 0 || err != core.ErrAgain {
		t.Fatalf("%d completions, %v: %+v; want none", n, err, e)
	}
}
