package peers_test

// Endpoints on the network, and an application at each.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gofabric/core"
	"gofabric/internal/endpoint"
	"gofabric/internal/mono"
	"gofabric/internal/peers"
	"gofabric/internal/progress"
	"gofabric/internal/rdmep"
	"gofabric/internal/transport/stream"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

var names = endpoint.Names{Provider: "wires"}

type fabric struct {
	endpoint.Fabric
	n *network
}

func (f *fabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	d := &domain{n: f.n}
	prog := progress.NewVirtual(false)
	d.InitDomain(endpoint.DomainConfig{Names: &names, Fabric: f, Info: info, Progress: prog, Limits: endpoint.RxLimits{Bytes: 1 << 20}, Linger: time.Second, Down: prog.Close})
	return d, nil
}

// domain is the domain of all endpoints, and the provider of their connections.
type domain struct {
	endpoint.Domain
	n    *network
	next settings // of the endpoint that opens next
}

// OpenListener implements stream.Domain.
func (d *domain) OpenListener(info *core.Info, a stream.Acceptor) (stream.Listener, error) {
	at := info.SrcAddr.IP
	if d.n.listeners[at] != nil {
		return nil, core.ErrAddrInUse
	}
	l := &listener{n: d.n, at: at, a: a}
	d.n.listeners[at] = l
	return l, nil
}

// Dial implements stream.Domain.
func (d *domain) Dial(info *core.Info, dest netip.AddrPort, c *engine.Conn, up func()) (stream.Conn, error) {
	l, err := d.n.dial(info.SrcAddr.IP, dest, c, up)
	if err != nil {
		return nil, err // not a nil *link
	}
	return l, nil
}

// settings are an endpoint's.
type settings struct {
	native   bool // it does not understand bye and stay
	hidden   bool // it accepts no connections
	patience time.Duration
	maxConns int
	idle     time.Duration
	aux      int
	key      string
	depth    int
}

const (
	handshake = time.Second      // the time for a connect
	patience  = 15 * time.Second // unless settings have it
)

func (d *domain) OpenEndpoint(info *core.Info, _ *core.Endpoint) (core.EndpointDriver, error) {
	e := &node{s: d.next}
	cfg := &engine.Config{StageMax: 4096, StageLimit: 1 << 16, TxDepth: 32, RendezvousOver: 1 << 40, InternalMax: 64, HandshakeNanos: int64(handshake)}
	if !e.s.native {
		cfg.Features = wire.FeatureExtended | wire.FeatureEnd
	}
	if e.s.depth > 0 {
		cfg.TxDepth = e.s.depth
	}
	if e.s.patience == 0 {
		e.s.patience = patience
	}
	err := e.Init(rdmep.Config{Domain: &d.Domain, Info: info, Lower: &core.Info{}, Protocol: peers.Protocol{Below: d, Conn: cfg, Negotiator: e, AuxNegotiator: e,
		Patience: e.s.patience, MaxConns: e.s.maxConns, IdleTime: e.s.idle, Aux: e.s.aux}})
	if err != nil {
		return nil, err
	}
	e.Opened(e)
	return e, nil
}

// node is an endpoint. It implements peers.Negotiator and peers.AuxNegotiator.
type node struct {
	rdmep.Endpoint
	s       settings
	deny    bool // it refuses all requests
	stay    bool // it takes every refusal as one in favour of another connection
	unlike  bool // no auxiliary connection fits
	noID    bool // its answers do not contain its incarnation
	refused int
	crossed int // refusals in favour of another connection
}

var errDenied = errors.New("denied")

func (e *node) hello(index uint8, b []byte) []byte {
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, e.Local().Port()), e.ID())
	hidden := byte(0)
	if e.s.hidden {
		hidden = 1
	}
	return append(b, index, hidden)
}

func (e *node) answer(b []byte) []byte {
	if e.noID {
		return append(b, 0, 0, 0, 0)
	}
	return binary.BigEndian.AppendUint32(b, e.ID())
}

func (e *node) Ask(_ *peers.Peer, b []byte) []byte { return e.hello(0, b) }
func (e *node) Asked(_ *engine.Conn, data []byte) (peers.Claim, error) {
	if e.deny || len(data) != 8 {
		return peers.Claim{}, errDenied
	}
	return peers.Claim{Port: binary.BigEndian.Uint16(data), ID: binary.BigEndian.Uint32(data[2:]), Index: data[6], Hidden: data[7] == 1}, nil
}
func (e *node) Take(_ *peers.Peer, _ *engine.Conn, _, b []byte) []byte { return e.answer(b) }
func (e *node) Up(p *peers.Peer, _ *engine.Conn, data []byte) {
	if len(data) > 0 {
		p.SetID(binary.BigEndian.Uint32(data))
	}
}
func (e *node) Refuse(_ []byte, crossed bool, b []byte) []byte {
	e.refused++
	if crossed {
		e.crossed++
		return append(b, 1)
	}
	return append(b, 0)
}
func (e *node) Refused(data []byte) bool                    { return e.stay || len(data) == 1 && data[0] == 1 }
func (e *node) AskAux(l *peers.AuxConn, b []byte) []byte    { return e.hello(l.Index(), b) }
func (e *node) TakeAux(_ *peers.AuxConn, b []byte) []byte   { return e.answer(b) }
func (e *node) AuxUp(_ *peers.AuxConn, ours bool) (ok bool) { return !(ours && e.unlike) }

// app is the application at an endpoint.
type app struct {
	*core.Endpoint
	*node
	t    testing.TB
	w    *world
	at   netip.AddrPort
	s    settings
	cq   *core.CompletionQueue
	av   *core.AddressVector
	bufs map[core.OpContext][]byte
	ctx  core.OpContext
	said []string
}

// world is the network with its endpoints.
type world struct {
	t    testing.TB
	n    *network
	f    *core.Fabric
	d    *core.Domain
	drv  *domain
	apps []*app
}

// run runs a test in virtual time.
func run(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { inWorld(t, f) })
}

func inWorld(t *testing.T, f func(w *world)) {
	w := &world{t: t, n: &network{listeners: map[netip.AddrPort]*listener{}}}
	fd := &fabric{n: w.n}
	fd.InitFabric(&names, info(netip.AddrPort{}))
	w.f = core.NewFabric(fd)
	var err error
	w.d, err = w.f.OpenDomain(info(netip.AddrPort{}))
	must(t, err)
	w.drv = w.d.Driver().(*domain)
	defer func() {
		w.n.pick = nil
		for _, a := range w.apps {
			a.crash()
		}
		must(t, errors.Join(w.d.Close(), w.f.Close()))
	}()
	f(w)
}

const caps = core.CapMsg | core.CapTagged | core.CapSend | core.CapRecv | core.CapSource | core.CapRMA | core.CapWrite | core.CapRead | core.CapRemoteRead | core.CapRemoteWrite

func info(a netip.AddrPort) *core.Info {
	return &core.Info{Caps: caps, AddrFormat: core.FormatSockaddrIn, SrcAddr: core.IPAddr(a), Tx: &core.TxAttr{InjectSize: 64, Size: 32}, Rx: &core.RxAttr{Size: 128},
		EP: &core.EPAttr{Type: core.EPTypeRDM, MaxMsgSize: 1 << 20}, Domain: &core.DomainAttr{Name: "d0"}, Fabric: &core.FabricAttr{Name: "f0"}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The addresses of endpoints; low is the least.
var (
	low  = netip.MustParseAddrPort("10.0.0.1:9")
	mid  = netip.MustParseAddrPort("10.0.0.5:5")
	high = netip.MustParseAddrPort("10.0.0.9:1")
)

// open opens an endpoint at an address, and posts receives.
func (w *world) open(at netip.AddrPort, s settings) *app {
	w.t.Helper()
	w.drv.next = s
	i := info(at)
	i.EP.AuthKey = []byte(s.key)
	a := &app{t: w.t, w: w, at: at, s: s, bufs: map[core.OpContext][]byte{}, ctx: 1000}
	var errs [3]error
	a.Endpoint, errs[0] = w.d.OpenEndpoint(i)
	a.cq, errs[1] = w.d.OpenCQ(core.CQAttr{Format: core.CQFormatTagged})
	a.av, errs[2] = w.d.OpenAV(core.AVAttr{})
	must(w.t, errors.Join(errs[:]...))
	a.node = a.Endpoint.Driver().(*node)
	must(w.t, errors.Join(a.BindCQ(a.cq, core.BindTransmit|core.BindRecv), a.BindAV(a.av, 0), a.Endpoint.Enable()))
	for range 16 {
		a.recv()
	}
	w.apps = append(w.apps, a)
	return a
}

func (a *app) recv() {
	a.ctx++
	a.bufs[a.ctx] = make([]byte, 64)
	must(a.t, a.Recv(a.bufs[a.ctx], 0, core.AddrUnspec, a.ctx))
}

// insert inserts the address of another endpoint.
func (a *app) insert(other *app) core.FIAddr { return a.insertAddr(other.at) }
func (a *app) insertAddr(at netip.AddrPort) core.FIAddr {
	a.t.Helper()
	fi := make([]core.FIAddr, 1)
	if n, err := a.av.Insert([]core.Addr{core.IPAddr(at)}, fi, 0, nil); n != 1 || err != nil {
		a.t.Fatal(n, err)
	}
	return fi[0]
}

// send sends text. ack asks for a completion only when the peer has it.
func (a *app) send(to core.FIAddr, text string, ctx core.OpContext) {
	a.t.Helper()
	must(a.t, a.Send([]byte(text), 0, to, ctx))
}
func (a *app) sendAck(to core.FIAddr, text string, ctx core.OpContext) {
	a.t.Helper()
	must(a.t, a.SendMsg(&core.MsgArgs{IOV: [][]byte{[]byte(text)}, Addr: to, Ctx: ctx}, core.OpDeliveryComplete))
}

// entry is a completion as text.
func (a *app) entry(e *core.CQEntry, src core.FIAddr) string {
	if e.Flags&core.CompRecv == 0 {
		return fmt.Sprint("sent ", e.Ctx)
	}
	from := "?"
	if src != core.AddrNotAvail {
		from = fmt.Sprint(src)
	}
	text := string(a.bufs[e.Ctx][:e.Len])
	delete(a.bufs, e.Ctx)
	a.recv()
	return text + " from " + from
}

// read reads all completions.
func (a *app) read() {
	var e [1]core.CQEntry
	var src [1]core.FIAddr
	for {
		n, err := a.cq.ReadFrom(e[:], src[:])
		switch {
		case n == 1:
			a.said = append(a.said, a.entry(&e[0], src[0]))
		case errors.Is(err, core.ErrAvail):
			var x core.CQErrEntry
			must(a.t, a.cq.ReadErr(&x))
			a.said = append(a.said, fmt.Sprintf("failed %d: %v", x.Ctx, error(x.Err)))
		case errors.Is(err, core.ErrAgain):
			return
		default:
			a.t.Fatal(err)
		}
	}
}

// take returns the completions since the last call.
func (a *app) take() string {
	a.read()
	s := strings.Join(a.said, ", ")
	a.said = nil
	if s == "" {
		return "-"
	}
	return s
}

// want checks the completions since the last call.
func (a *app) want(what string) {
	a.t.Helper()
	if got := a.take(); got != what {
		a.t.Errorf("%v got %q, want %q", a.at, got, what)
	}
}

// conns checks the number of connections, also those that are opening.
func (a *app) conns(want int) {
	a.t.Helper()
	if n := a.Connections(); n != want {
		a.t.Errorf("%v has %d connections, want %d", a.at, n, want)
	}
}

// crash ends the endpoint without a word to its peers.
func (a *app) crash() {
	a.t.Helper()
	if a.Endpoint == nil {
		return
	}
	a.w.locked(func() {
		for _, l := range a.links() {
			l.vanish()
		}
	})
	must(a.t, a.SetOpt(core.OptLinger, 0))
	must(a.t, errors.Join(a.Endpoint.Close(), a.cq.Close(), a.av.Close()))
	a.Endpoint = nil
}

// restart crashes the endpoint and opens another one at its address.
func (a *app) restart() *app {
	a.crash()
	return a.w.open(a.at, a.s)
}

// links returns the open ends of the endpoint's connections.
func (a *app) links() (list []*link) {
	for _, l := range a.w.n.links {
		if !l.closed && l.owner == a.at {
			list = append(list, l)
		}
	}
	return list
}

func (w *world) locked(f func()) {
	w.drv.Progress().Lock()
	defer w.drv.Progress().Unlock()
	f()
}

// flow delivers until nothing is on its way.
func (w *world) flow() {
	w.t.Helper()
	for n := 0; ; n++ {
		more := false
		w.locked(func() {
			more = w.n.step()
		})
		if !more {
			return
		}
		if n > 100000 {
			w.t.Fatal("it does not end")
		}
	}
}

// pass lets time pass in small steps, and delivers.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	for end := mono.Now().Add(d); mono.Now() < end; {
		time.Sleep(min(end.Sub(mono.Now()), 5*time.Millisecond))
		w.locked(func() {
			w.n.expire(mono.Now())
			w.drv.Progress().Pass()
		})
		w.flow()
	}
}
