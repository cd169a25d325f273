// This file opens the endpoints of the tests: over udp, over fault, and over a port that the test controls.

package dgramep_test

import (
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gofabric/core"
	"gofabric/internal/dgramep"
	"gofabric/internal/endpoint"
	"gofabric/internal/host"
	"gofabric/internal/progress"
	"gofabric/internal/transport/datagram"
	"gofabric/provider/udp"
	"gofabric/test/wait"
	"gofabric/util/fault"
)

// patience is the longest time that a test waits for an expected event.
const patience = wait.Limit

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// side is an endpoint with all objects that it needs.
type side struct {
	t      testing.TB
	f      *core.Fabric
	d      *core.Domain
	ep     *core.Endpoint
	tx, rx *core.CompletionQueue
	av     *core.AddressVector
	eq     *core.EventQueue
	info   *core.Info
	more   []*core.Endpoint // opened by a test, closed first
	bound  []core.Object    // opened by a test
}

// real opens an endpoint of a provider, "udp" or "udp;fault", at an address. The variables are FI_* names and
// values in turn.
func real(t testing.TB, provider, at string, variables ...string) *side {
	t.Helper()
	env := map[string]string{}
	for i := 0; i < len(variables); i += 2 {
		env[variables[i]] = variables[i+1]
	}
	params, err := core.NewParams(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, "")
	must(t, err)
	machine := &host.Host{Timeout: time.Second}
	u, err := udp.New(params, machine)
	must(t, err)
	l, err := fault.New(params, machine)
	must(t, err)
	reg := core.NewRegistry(u, l)
	hints := core.NewHints()
	hints.EP.Type, hints.Fabric.ProvName = core.EPTypeDgram, provider
	hints.Caps = core.CapMsg | core.CapMulticast | core.CapSource
	infos, why, err := core.GetInfo(reg, machine, params, core.Query{Node: at, Flags: core.InfoSource, Hints: hints})
	if err != nil {
		t.Fatalf("%v: %v", err, why)
	}
	f, err := core.OpenFabric(reg, infos[0])
	must(t, err)
	d, err := f.OpenDomain(infos[0])
	must(t, err)
	return open(t, f, d, infos[0], 0)
}

// open opens and enables the endpoint; bind are flags for BindCQ.
func open(t testing.TB, f *core.Fabric, d *core.Domain, info *core.Info, bind core.BindFlags) *side {
	t.Helper()
	s := &side{t: t, f: f, d: d, info: info}
	var err error
	s.ep, err = d.OpenEndpoint(info)
	must(t, err)
	s.tx, err = d.OpenCQ(core.CQAttr{Format: core.CQFormatData})
	must(t, err)
	s.rx, err = d.OpenCQ(core.CQAttr{Format: core.CQFormatData})
	must(t, err)
	s.av, err = d.OpenAV(core.AVAttr{})
	must(t, err)
	s.eq, err = f.OpenEQ(core.EQAttr{})
	must(t, err)
	must(t, s.ep.BindCQ(s.tx, core.BindTransmit|bind))
	must(t, s.ep.BindCQ(s.rx, core.BindRecv|bind))
	must(t, s.ep.BindAV(s.av, 0))
	must(t, s.ep.BindEQ(s.eq, 0))
	t.Cleanup(s.close)
	return s
}

func (s *side) enable() *side { s.t.Helper(); must(s.t, s.ep.Enable()); return s }

func (s *side) close() {
	for _, ep := range s.more {
		must(s.t, ep.Close())
	}
	for _, o := range append([]core.Object{s.ep, s.tx, s.rx, s.av, s.eq}, append(s.bound, s.d, s.f)...) {
		must(s.t, o.Close())
	}
}

func (s *side) name() core.Addr {
	s.t.Helper()
	a, err := s.ep.Name()
	must(s.t, err)
	return a
}

// knows inserts a peer.
func (s *side) knows(a core.Addr) core.FIAddr {
	s.t.Helper()
	var fi [1]core.FIAddr
	if n, err := s.av.Insert([]core.Addr{a}, fi[:], 0); n != 1 || err != nil {
		s.t.Fatalf("inserted %d, %v", n, err)
	}
	return fi[0]
}

// next waits for a completion of the receive queue.
func (s *side) next() (core.CQEntry, core.FIAddr) {
	s.t.Helper()
	var e [1]core.CQEntry
	var src [1]core.FIAddr
	for deadline := time.Now().Add(patience); ; {
		n, err := s.rx.ReadFrom(e[:], src[:])
		if n == 1 {
			return e[0], src[0]
		}
		if err != core.ErrAgain {
			s.t.Fatalf("reading the receive queue: %v", err)
		}
		if time.Now().After(deadline) {
			s.t.Fatal("nothing was received")
		}
	}
}

// one takes the only completion of the queue.
func (s *side) one(q *core.CompletionQueue) core.CQEntry {
	s.t.Helper()
	var e [2]core.CQEntry
	n, err := q.Read(e[:])
	if n != 1 || err != nil {
		s.t.Fatalf("%d completions, %v; want one", n, err)
	}
	return e[0]
}

func (s *side) none(q *core.CompletionQueue) {
	s.t.Helper()
	var e [1]core.CQEntry
	if n, err := q.Read(e[:]); n > 0 || err != core.ErrAgain {
		s.t.Fatalf("%d completions, %v: %+v; want none", n, err, e)
	}
}

func (s *side) failed(q *core.CompletionQueue) core.CQErrEntry {
	s.t.Helper()
	var one [1]core.CQEntry
	if n, err := q.Read(one[:]); err != core.ErrAvail {
		s.t.Fatalf("%d completions, %v; want an error", n, err)
	}
	var e core.CQErrEntry
	must(s.t, q.ReadErr(&e))
	return e
}

// tame is a domain with one port, which the test controls.
type tame struct {
	endpoint.Domain
	port *tamePort
}

type tamePort struct {
	r      datagram.Receiver
	sent   []string
	fail   error // of sends
	deaf   bool  // sends succeed and are not recorded
	closed bool

	expected []netip.AddrPort
}

type tameFabric struct{ endpoint.Fabric }

func (f *tameFabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	d := &tame{}
	prog := progress.NewVirtual(false)
	d.InitDomain(endpoint.DomainConfig{Names: &names, Fabric: f, Info: info, Progress: prog, Down: prog.Close})
	return d, nil
}
func (*tameFabric) OpenPassiveEndpoint(*core.Info, *core.PassiveEndpoint) (core.PassiveDriver, error) {
	return nil, core.ErrNoSys
}

func (d *tame) OpenEndpoint(info *core.Info, _ *core.Endpoint) (core.EndpointDriver, error) {
	return dgramep.Open(d, &d.Domain, info)
}
func (d *tame) OpenSRX(attr *core.RxAttr) (core.SRXDriver, error) {
	return dgramep.OpenSRX(&d.Domain, attr)
}
func (d *tame) OpenPort(_ *core.Info, r datagram.Receiver) (datagram.Port, error) {
	d.port = &tamePort{r: r}
	return d.port, nil
}

var here = netip.MustParseAddrPort("10.0.0.1:7")

func (p *tamePort) Local() netip.AddrPort          { return here }
func (p *tamePort) MaxDatagram(netip.AddrPort) int { return 1472 }
func (p *tamePort) MaxSegments() int               { return 1 }
func (p *tamePort) Poll()                          {}
func (p *tamePort) Expect(dest netip.AddrPort)     { p.expected = append(p.expected, dest) }
func (p *tamePort) Stats() datagram.Stats          { return datagram.Stats{} }
func (p *tamePort) Close() error                   { p.closed = true; return nil }
func (p *tamePort) Send(_ netip.AddrPort, parts [][]byte, _ int) error {
	if p.fail != nil {
		return p.fail
	}
	if p.deaf {
		return nil
	}
	text := ""
	for _, b := range parts {
		text += string(b)
	}
	p.sent = append(p.sent, text)
	return nil
}

var names = endpoint.Names{Provider: "tame"}

// tamed opens an endpoint over a tame port, with one peer, number 0.
func tamed(t testing.TB, size int, bind core.BindFlags) (*side, *tame) {
	t.Helper()
	info := &core.Info{Caps: core.CapMsg | core.CapSend | core.CapRecv | core.CapSource,
		Tx: &core.TxAttr{InjectSize: 64, Size: size}, Rx: &core.RxAttr{Size: size},
		EP:     &core.EPAttr{Type: core.EPTypeDgram, MaxMsgSize: 1472},
		Domain: &core.DomainAttr{Name: "d", MaxEPStxCtx: 8}, Fabric: &core.FabricAttr{Name: "f"}}
	f := &tameFabric{}
	f.InitFabric(&names, info)
	fabric := core.NewFabric(f)
	d, err := fabric.OpenDomain(info)
	must(t, err)
	s := open(t, fabric, d, info, bind)
	s.knows(core.IPAddr(peerAt))
	return s.enable(), d.Driver().(*tame)
}

var peerAt = netip.MustParseAddrPort("10.0.0.2:7")

// bring delivers datagrams, as a run if there is more than one.
func (d *tame) bring(b string, seg int) {
	d.Progress().Lock()
	defer d.Progress().Unlock()
	d.port.r.Received(peerAt, []byte(b), seg)
	d.port.r.Drained()
}

func netipAt(ip string, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(ip), port)
}
