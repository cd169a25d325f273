package rdmep_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/endpoint"
	"gofabric/internal/peers"
	"gofabric/internal/progress"
	"gofabric/internal/rdmep"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
)

var names = endpoint.Names{Provider: "wires"}

// fabric has domains whose connections are never established.
type fabric struct{ endpoint.Fabric }

func (f *fabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	d := &domain{used: map[netip.AddrPort]*listener{}}
	prog := progress.NewVirtual(false)
	d.InitDomain(endpoint.DomainConfig{Names: &names, Fabric: f, Info: info, Progress: prog,
		Limits: endpoint.RxLimits{Bytes: 1 << 20}, Linger: time.Second, Down: prog.Close})
	return d, nil
}

type domain struct {
	endpoint.Domain
	used   map[netip.AddrPort]*listener
	dialed []netip.AddrPort
	refuse error  // error of Dial and Listen
	meet   func() // called by OpenListener
}

func (d *domain) OpenEndpoint(info *core.Info, _ *core.Endpoint) (core.EndpointDriver, error) {
	ep := &wiresEndpoint{}
	err := ep.Init(rdmep.Config{Domain: &d.Domain, Info: info, Lower: &core.Info{}, Hint: "see the manual",
		Protocol: peers.Protocol{Below: d,
			Conn: &engine.Config{StageMax: 4096, StageLimit: 1 << 16, TxDepth: 8, RendezvousOver: 1 << 40,
				InternalMax: 64}, Negotiator: silent{}}})
	if err != nil {
		return nil, err
	}
	ep.Opened(ep)
	return ep, nil
}

// OpenListener implements stream.Domain.
func (d *domain) OpenListener(info *core.Info, _ stream.Acceptor) (stream.Listener, error) {
	if d.meet != nil {
		d.meet()
	}
	a := info.SrcAddr.IP
	if d.used[a] != nil {
		return nil, core.ErrAddrInUse
	}
	l := &listener{d: d, at: a}
	d.used[a] = l
	return l, nil
}

// Dial implements stream.Domain.
func (d *domain) Dial(_ *core.Info, dest netip.AddrPort, _ *engine.Conn, _ func()) (stream.Conn, error) {
	d.dialed = append(d.dialed, dest)
	if d.refuse != nil {
		return nil, d.refuse
	}
	return link{}, nil
}

type listener struct {
	d         *domain
	at        netip.AddrPort
	listening bool
}

func (l *listener) Local() netip.AddrPort { return l.at }
func (l *listener) Close()                { delete(l.d.used, l.at) }
func (l *listener) Listen() error {
	l.listening = l.d.refuse == nil
	return l.d.refuse
}

// link is a connect that is never answered.
type link struct{ stream.Conn }

func (link) Posted(bool) *batch.Stream { return nil }
func (link) StopReceiving()            {}
func (link) Drained(bool) bool         { return true }
func (link) Finish()                   {}
func (link) Close()                    {}

// silent is a protocol without private data.
type silent struct{ peers.Negotiator }

type wiresEndpoint struct{ rdmep.Endpoint }

var (
	here  = netip.MustParseAddrPort("10.0.0.1:7")
	there = netip.MustParseAddrPort("10.0.0.2:7")
)

const caps = core.CapMsg | core.CapSend | core.CapRecv

func info(a netip.AddrPort) *core.Info {
	return &core.Info{Caps: caps, AddrFormat: core.FormatSockaddrIn, SrcAddr: core.IPAddr(a),
		Tx: &core.TxAttr{InjectSize: 64, Size: 8}, Rx: &core.RxAttr{Size: 8},
		EP: &core.EPAttr{Type: core.EPTypeRDM, MaxMsgSize: 1 << 20}, Domain: &core.DomainAttr{Name: "d0"},
		Fabric: &core.FabricAttr{Name: "f0"}}
}

// world is an endpoint at here, with objects to bind to it.
type world struct {
	d   *core.Domain
	drv *domain
	ep  *core.Endpoint
	e   *wiresEndpoint
	q   *core.CompletionQueue
	v   *core.AddressVector
}

func newWorld(t *testing.T) *world {
	t.Helper()
	f := &fabric{}
	f.InitFabric(&names, info(here))
	fab := core.NewFabric(f)
	w := &world{}
	var errs [4]error
	w.d, errs[0] = fab.OpenDomain(info(here))
	w.drv = w.d.Driver().(*domain)
	w.ep, errs[1] = w.d.OpenEndpoint(info(here))
	w.q, errs[2] = w.d.OpenCQ(core.CQAttr{})
	w.v, errs[3] = w.d.OpenAV(core.AVAttr{})
	must(t, errors.Join(errs[:]...))
	w.e = w.ep.Driver().(*wiresEndpoint)
	t.Cleanup(func() {
		if err := w.ep.Close(); err != nil && !errors.Is(err, core.ErrBadF) {
			t.Error(err)
		}
		must(t, errors.Join(w.q.Close(), w.v.Close(), w.d.Close(), fab.Close()))
	})
	return w
}

func (w *world) enable(t *testing.T) {
	t.Helper()
	must(t, errors.Join(w.ep.BindCQ(w.q, core.BindTransmit|core.BindRecv), w.ep.BindAV(w.v, 0), w.ep.Enable()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, what string, err error, want core.Errno) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func (w *world) named(t *testing.T, want netip.AddrPort) {
	t.Helper()
	if a, err := w.ep.Name(); err != nil || a.IP != want || len(w.drv.used) != 1 || w.drv.used[want] == nil {
		t.Errorf("the name is %v, %v, listeners are %v; want %v", a, err, w.drv.used, want)
	}
}

// TestName: an endpoint has its listener's address. The address can change only before Enable.
func TestName(t *testing.T) {
	w := newWorld(t)
	w.named(t, here)
	wants(t, "no address", w.ep.SetName(core.Addr{}), core.ErrInval)
	err := w.ep.SetName(core.IPAddr(here))
	if wants(t, "an address in use", err, core.ErrAddrInUse); !strings.Contains(err.Error(), here.String()) {
		t.Errorf("%q does not name the address", err)
	}
	if _, err := w.d.OpenEndpoint(info(here)); !errors.Is(err, core.ErrAddrInUse) ||
		!strings.Contains(err.Error(), "see the manual") {
		t.Errorf("a second endpoint: %v", err)
	}
	must(t, w.ep.SetName(core.IPAddr(there)))
	w.named(t, there)
	w.enable(t)
	wants(t, "after Enable", w.ep.SetName(core.IPAddr(here)), core.ErrOpBadState)
	w.named(t, there)
	if w.e.ID() == 0 {
		t.Error("no incarnation")
	}
}

// TestNameTooLate: an endpoint that is enabled while its new listener is being bound keeps the old one.
func TestNameTooLate(t *testing.T) {
	w := newWorld(t)
	w.drv.meet = func() { w.enable(t) }
	wants(t, "SetName", w.ep.SetName(core.IPAddr(there)), core.ErrOpBadState)
	w.named(t, here)
}

// TestEnable: peers can connect after Enable has succeeded, and not before.
func TestEnable(t *testing.T) {
	w := newWorld(t)
	wants(t, "without address vector", w.ep.Enable(), core.ErrNoAV)
	must(t, errors.Join(w.ep.BindCQ(w.q, core.BindTransmit|core.BindRecv), w.ep.BindAV(w.v, 0)))
	w.drv.refuse = core.ErrAddrInUse
	wants(t, "without port", w.ep.Enable(), core.ErrAddrInUse)
	wants(t, "a receive before Enable", w.ep.Recv(make([]byte, 8), 0, core.AddrUnspec, 1), core.ErrOpBadState)
	w.drv.refuse = nil
	must(t, w.ep.Enable())
	if !w.drv.used[here].listening {
		t.Error("it does not listen")
	}
	wants(t, "Enable again", w.ep.Enable(), core.ErrOpBadState)
}

// TestConnect: the first transfer to an address connects, and returns the reason if it cannot.
func TestConnect(t *testing.T) {
	w := newWorld(t)
	w.enable(t)
	fi := make([]core.FIAddr, 1)
	if n, err := w.v.Insert([]core.Addr{core.IPAddr(there)}, fi, 0, nil); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	buf := make([]byte, 8)
	wants(t, "an index without address", w.ep.Send(buf, 0, 77, 1), core.ErrInval)
	w.drv.refuse = core.ErrAgain // an application would repeat the call for ever after EAGAIN
	wants(t, "no local ports", w.ep.Send(buf, 0, fi[0], 1), core.ErrAddrNotAvail)
	w.drv.refuse = nil
	wants(t, "Disconnect from no peer", w.e.Disconnect(fi[0]), core.ErrNotConn)
	must(t, w.ep.Send(buf, 0, fi[0], 1))
	if n := w.e.Connections(); n != 1 || len(w.drv.dialed) != 2 || w.drv.dialed[1] != there {
		t.Errorf("%d connections, dialed %v", n, w.drv.dialed)
	}
	must(t, w.ep.Cancel(1))
	wants(t, "Cancel again", w.ep.Cancel(1), core.ErrNoEnt)
	must(t, w.e.Disconnect(fi[0]))
	if n := w.e.Connections(); n != 0 {
		t.Errorf("%d connections after Disconnect", n)
	}
}

// TestSharedRx: with a shared receive context, receives must be posted there.
func TestSharedRx(t *testing.T) {
	w := newWorld(t)
	srx, err := w.d.OpenSRX(nil)
	must(t, err)
	own := w.e.Own
	must(t, w.ep.BindSRX(srx))
	if w.e.Own == own {
		t.Error("connections receive into the endpoint's own context")
	}
	wants(t, "a second one", w.ep.BindSRX(srx), core.ErrInval)
	w.enable(t)
	wants(t, "a receive", w.ep.Recv(make([]byte, 8), 0, core.AddrUnspec, 1), core.ErrOpNotSupp)
	wants(t, "closing it before the endpoint", srx.Close(), core.ErrBusy)
	must(t, errors.Join(w.ep.Close(), srx.Close()))
}

// TestClose: aliases must close first. After the close nothing is left open, and all calls fail.
func TestClose(t *testing.T) {
	w := newWorld(t)
	w.enable(t)
	alias, err := w.ep.Alias(core.BindTransmit, 0)
	must(t, err)
	wants(t, "Close before its alias", w.ep.Close(), core.ErrBusy)
	wants(t, "closing the domain", w.d.Close(), core.ErrBusy)
	must(t, errors.Join(alias.Close(), w.ep.Close()))
	if len(w.drv.used) > 0 {
		t.Errorf("listeners are left: %v", w.drv.used)
	}
	wants(t, "Close again", w.ep.Close(), core.ErrBadF)
	wants(t, "SetName", w.ep.SetName(core.IPAddr(there)), core.ErrOpBadState)
}

// TestEnded: the embedding type is called once, when the endpoint's last connection has ended.
func TestEnded(t *testing.T) {
	w := newWorld(t)
	n := 0
	for range 2 {
		w.e.CloseWith(&w.e.Set, func() { n++; w.e.Set.Close() })
	}
	if n != 1 {
		t.Errorf("told %d times", n)
	}
}
