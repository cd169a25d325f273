package endpoint_test

// A provider for groups: the endpoints of one domain, each with a connection to each other one.

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/endpoint"
	"gofabric/internal/progress"
	"gofabric/internal/telemetry"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

type meshFabric struct {
	endpoint.Fabric
	m *mesh
}

func (f *meshFabric) OpenDomain(info *core.Info) (core.DomainDriver, error) {
	d := &meshDomain{m: f.m}
	prog := progress.NewVirtual(false)
	d.InitDomain(endpoint.DomainConfig{Names: &names, Fabric: f, Info: info, Progress: prog, Limits: endpoint.RxLimits{Bytes: 1 << 20}, Linger: 10 * time.Second, Down: prog.Close})
	return d, nil
}

type meshDomain struct {
	endpoint.Domain
	m *mesh
}

func (d *meshDomain) OpenEndpoint(info *core.Info, _ *core.Endpoint) (core.EndpointDriver, error) {
	e := &meshEP{m: d.m, d: d, at: info.SrcAddr.IP}
	ends := func(uint64) (netip.AddrPort, netip.AddrPort) { return e.at, endpoint.NoPeer }
	if err := e.InitReliable(&d.Domain, info, ends, endpoint.RxSink{Endpoint: &e.Endpoint}, e, e.CanReceive); err != nil {
		return nil, err
	}
	e.Opened(e)
	return e, nil
}

// meshEP is a driver. Its peers have the same indices in all address vectors.
type meshEP struct {
	endpoint.Reliable
	endpoint.Connectionless
	endpoint.NoConnections
	m     *mesh
	d     *meshDomain
	at    netip.AddrPort
	conns []*engine.Conn // by index; nil for itself
}

// Route and Posted implement endpoint.Router.
func (e *meshEP) Route(dest core.FIAddr) (*engine.Conn, error) {
	if c := e.conns[dest]; c.State() == engine.Connected {
		return c, nil
	}
	return nil, core.ErrHostUnreach
}
func (e *meshEP) Posted(*engine.Conn, bool) *batch.Stream { return nil }

func (e *meshEP) Enable() error {
	e.d.Progress().Lock()
	defer e.d.Progress().Unlock()
	if err := e.CheckEnable(endpoint.NeedsAV); err != nil {
		return err
	}
	e.SetEnabled()
	return nil
}

func (e *meshEP) Conns(yield func(*engine.Conn) bool) {
	for _, c := range e.conns {
		if c != nil && !yield(c) {
			return
		}
	}
}

func (e *meshEP) Close() error {
	e.d.Progress().Lock()
	if err := e.BeginClose(); err != nil {
		e.d.Progress().Unlock()
		return err
	}
	for c := range e.Conns {
		c.Drop(engine.ErrClosed)
	}
	e.EndRx()
	e.d.Progress().Unlock()
	e.Unbind()
	return nil
}

func (e *meshEP) ObservePeers(func(endpoint.PeerView) bool) {}
func (e *meshEP) ObserveCounts(telemetry.Counts)            {}

func (e *meshEP) Name() (core.Addr, error) { return core.IPAddr(e.at), nil }
func (e *meshEP) SetName(core.Addr) error  { return core.ErrNoSys }

// mesh is some endpoints with their objects. What they post is delivered by flow.
type mesh struct {
	t    testing.TB
	f    *core.Fabric
	d    *core.Domain
	drv  *meshDomain
	all  []*member
	cfg  *engine.Config
	held [2]int // nothing is delivered from the first of these to the second; equal: all is
}

// member is an endpoint of a mesh.
type member struct {
	*core.Endpoint
	drv  *meshEP
	q    *core.CompletionQueue
	eq   *core.EventQueue
	v    *core.AddressVector
	sets []*core.AVSet
	mc   []*core.MC
}

const collCaps = core.CapMsg | core.CapCollective | core.CapSend | core.CapRecv

func meshInfo(i int) *core.Info {
	info := testInfo(collCaps)
	info.AddrFormat = core.FormatSockaddrIn
	info.SrcAddr = core.IPAddr(meshAddr(i))
	info.Tx.Size = 4
	return info
}

func meshAddr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), 7)
}

// newMesh opens n endpoints. stage is the number of bytes that a connection stages before it has no room.
func newMesh(t testing.TB, n, stage int, bind core.BindFlags) *mesh {
	t.Helper()
	m := &mesh{t: t}
	f := &meshFabric{m: m}
	f.InitFabric(&names, meshInfo(0))
	m.f = core.NewFabric(f)
	m.d = opened(t, m.f.OpenDomain, meshInfo(0))
	m.drv = m.d.Driver().(*meshDomain)
	for i := range n {
		e := opened(t, m.d.OpenEndpoint, meshInfo(i))
		x := &member{Endpoint: e, drv: e.Driver().(*meshEP), q: opened(t, m.d.OpenCQ, core.CQAttr{Format: core.CQFormatTagged}),
			eq: opened(t, m.f.OpenEQ, core.EQAttr{}), v: opened(t, m.d.OpenAV, core.AVAttr{})}
		must(t, errors.Join(e.BindCQ(x.q, core.BindTransmit|core.BindRecv|bind), e.BindEQ(x.eq, 0), e.BindAV(x.v, 0), e.Enable()))
		for j := range n {
			if fi := x.insert(t, meshAddr(j)); fi != core.FIAddr(j) {
				t.Fatalf("index %d for address %d", fi, j)
			}
		}
		m.all = append(m.all, x)
	}
	m.cfg = &engine.Config{StageMax: 4096, StageLimit: stage, TxDepth: 32, RendezvousOver: 1 << 40, InternalMax: 64}
	for i, x := range m.all {
		x.drv.conns = make([]*engine.Conn, n)
		for j := range n {
			if j != i {
				x.drv.conns[j] = m.conn(i, j)
			}
		}
	}
	t.Cleanup(m.close)
	return m
}

// conn makes the end of a connection at endpoint i, to endpoint j.
func (m *mesh) conn(i, j int) *engine.Conn {
	e := m.all[i].drv
	c := engine.NewReady(m.drv.Pool(), m.cfg, e.Own, m.drv, e)
	c.Src, c.Ours, c.Extended, c.Agreed = uint64(j), true, true, wire.FeatureExtended
	return c
}

func (x *member) insert(t testing.TB, at netip.AddrPort) core.FIAddr {
	t.Helper()
	fi := make([]core.FIAddr, 1)
	if n, err := x.v.Insert([]core.Addr{core.IPAddr(at)}, fi, 0, nil); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	return fi[0]
}

// close closes everything. Groups that have ended leave nothing behind: no message is expected or kept.
func (m *mesh) close() {
	for _, x := range m.all {
		for _, g := range x.mc {
			if err := g.Close(); err != nil && err != core.ErrBadF {
				m.t.Error(err)
			}
		}
	}
	m.held = [2]int{}
	m.flow()
	for i, x := range m.all {
		for j, c := range x.drv.conns {
			if c != nil && c.State() == engine.Connected && !c.Idle() && m.all[j].drv.conns[i].State() == engine.Connected {
				m.t.Errorf("endpoint %d: its connection to %d is not idle; messages are expected: %v", i, j, c.Expecting())
			}
		}
	}
	for _, x := range m.all {
		if err := x.Endpoint.Close(); err != nil && err != core.ErrBadF {
			m.t.Error(err)
		}
		for _, s := range x.sets {
			must(m.t, s.Close())
		}
		must(m.t, errors.Join(x.q.Close(), x.eq.Close(), x.v.Close()))
	}
	must(m.t, errors.Join(m.d.Close(), m.f.Close()))
}

func (m *mesh) locked(f func()) { m.drv.Progress().Lock(); defer m.drv.Progress().Unlock(); f() }

// flow delivers until nothing is on its way, and has the endpoints do what follows from it.
func (m *mesh) flow() {
	m.t.Helper()
	for quiet, n := 0, 0; quiet < 3; n++ {
		quiet++
		m.locked(func() {
			for i, x := range m.all {
				for j := range m.all {
					if j != i && (m.held[0] == m.held[1] || m.held != [2]int{i, j}) && move(x.drv.conns[j], m.all[j].drv.conns[i]) {
						quiet = 0
					}
				}
			}
			m.drv.Progress().Pass()
		})
		if n > 10000 {
			m.t.Fatal("it does not end")
		}
	}
}

// move passes what a connection has queued to the other end. It returns false if there is nothing.
func move(from, to *engine.Conn) (moved bool) {
	var space [8][]byte
	for from.State() == engine.Connected && to.State() == engine.Connected && from.HasPending() {
		first, list := from.Pending(space[:0], 1<<16)
		if first != nil {
			list = append(space[:0], first)
		}
		n := 0
		for _, b := range list {
			n += len(b)
			for len(b) > 0 {
				k := copy(to.Target(), b)
				if b = b[k:]; k > 0 {
					to.Receive(k, nil)
				} else {
					to.Receive(0, b)
					b = nil
				}
			}
		}
		from.Transmitted(n)
		moved = true
	}
	return moved
}

// cut ends the connection between two endpoints at both ends.
func (m *mesh) cut(i, j int) {
	m.locked(func() {
		m.all[i].drv.conns[j].Fail(core.ErrConnReset)
		m.all[j].drv.conns[i].Fail(core.ErrConnReset)
	})
}

// set returns a new set of an endpoint's vector.
func (m *mesh) set(x *member, members []int, flags core.AVSetFlags) *core.AVSet {
	m.t.Helper()
	s := opened(m.t, x.v.OpenSet, core.AVSetAttr{Flags: flags})
	for _, i := range members {
		must(m.t, s.Insert(core.FIAddr(i)))
	}
	x.sets = append(x.sets, s)
	return s
}

// join makes one endpoint call join. The context is its number.
func (m *mesh) join(i int, members ...int) *core.MC {
	m.t.Helper()
	s := m.set(m.all[i], members, 0)
	return m.joinSet(i, s)
}

func (m *mesh) joinSet(i int, s *core.AVSet) *core.MC {
	m.t.Helper()
	mc, err := m.all[i].JoinCollective(core.AddrNotAvail, s, 0, i)
	must(m.t, err)
	m.all[i].mc = append(m.all[i].mc, mc)
	return mc
}

// joined makes all of some endpoints join, and checks that all have. The groups are indexed by rank.
func (m *mesh) joined(members ...int) (mc []*core.MC) {
	m.t.Helper()
	for _, i := range members {
		mc = append(mc, m.join(i, members...))
	}
	m.flow()
	for rank, i := range members {
		m.event(i, mc[rank], "joined")
	}
	return mc
}

// event checks that an endpoint has one event, about a group. "" stands for no event.
func (m *mesh) event(i int, mc *core.MC, want string) {
	m.t.Helper()
	var ev core.EQEvent
	got := ""
	switch err := m.all[i].eq.Read(&ev, 0); {
	case err == nil:
		got = "joined"
		if ev.Type != core.EventJoinComplete || ev.Object != core.Object(mc) || ev.Context != i {
			got = fmt.Sprintf("event %+v", ev)
		}
	case errors.Is(err, core.ErrAvail):
		var e core.EQErrEntry
		must(m.t, m.all[i].eq.ReadErr(&e, 0))
		got = e.Err.Error()
		if e.Object != core.Object(mc) || e.Context != i || !strings.Contains(e.Detail, "joining a group") {
			got = fmt.Sprintf("error %+v", e)
		}
	case !errors.Is(err, core.ErrAgain):
		m.t.Fatal(err)
	}
	if got != want {
		m.t.Errorf("endpoint %d: %q, want %q", i, got, want)
	}
}

// ends returns the completions of an endpoint, sorted: "1" for context 1, or "1: error".
func (m *mesh) ends(i int) string {
	m.t.Helper()
	var list []string
	for {
		var e [1]core.CQEntry
		switch n, err := m.all[i].q.Read(e[:]); {
		case n == 1:
			if e[0].Flags != core.CompCollective || e[0].Len != 0 {
				m.t.Errorf("endpoint %d: completion %+v", i, e[0])
			}
			list = append(list, fmt.Sprint(e[0].Ctx))
		case errors.Is(err, core.ErrAvail):
			var x core.CQErrEntry
			must(m.t, m.all[i].q.ReadErr(&x))
			list = append(list, fmt.Sprintf("%d: %v", x.Ctx, error(x.Err)))
		case errors.Is(err, core.ErrAgain):
			slices.Sort(list)
			return strings.Join(list, ", ")
		default:
			m.t.Fatal(err)
		}
	}
}

func (m *mesh) wantEnds(i int, want string) {
	m.t.Helper()
	if got := m.ends(i); got != want {
		m.t.Errorf("endpoint %d: completions %q, want %q", i, got, want)
	}
}
