package tcp

// The cost of idle connections, and what remains after they have closed.

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/netx"
	"gofabric/internal/progress"
	"gofabric/internal/xnet/wire"
	"gofabric/test/wait"
)

// bound limits each wait.
const bound = wait.Limit

// dom is a domain with its driver.
type dom struct {
	*core.Domain
	drv *domain
}

// fixture opens the provider with some parameters, a fabric and a domain.
func fixture(t testing.TB, typ core.EPType, env map[string]string) (*core.Fabric, *dom, *core.Info) {
	t.Helper()
	params, err := core.NewParams(func(k string) (string, bool) { v, ok := env[k]; return v, ok }, "")
	must(t, err)
	p, err := New(params, nil)
	must(t, err)
	for _, info := range p.Infos(nil) {
		if info.EP.Type != typ || info.EP.RxCtxCnt == core.SharedContext {
			continue
		}
		info.SrcAddr = core.IPAddr(netip.MustParseAddrPort("127.0.0.1:0"))
		info.Caps &^= core.CapExactDirectedRecv | core.CapSourceErr // as GetInfo does without hints for them
		p.SetDefaults(info, nil)
		driver, err := p.OpenFabric(info)
		must(t, err)
		f := core.NewFabric(driver)
		d, err := f.OpenDomain(info)
		must(t, err)
		return f, &dom{d, d.Driver().(*domain)}, info
	}
	t.Fatalf("no Info of type %v", typ)
	return nil, nil, nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// raw connects a plain socket.
func raw(t *testing.T, to netip.AddrPort) *net.TCPConn {
	t.Helper()
	c, err := net.DialTimeout("tcp", to.String(), bound)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	must(t, c.SetDeadline(time.Now().Add(bound)))
	return c.(*net.TCPConn)
}

// reset closes c with a reset.
func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

// eventually waits for a condition under the engine's lock, without making progress.
func eventually(t *testing.T, e *progress.Engine, what string, cond func() bool) {
	t.Helper()
	wait.Until(t, what, func() bool {
		e.Lock()
		defer e.Unlock()
		return cond()
	})
}

// quiet checks that the engine's goroutine sleeps. It would spin if the poller reported the same event again and
// again.
func quiet(t *testing.T, e *progress.Engine) {
	t.Helper()
	if !netx.EdgeTriggered {
		return // the portable poller cannot report an event only once
	}
	e.Lock()
	before := e.Batch().Passes()
	e.Unlock()
	time.Sleep(50 * time.Millisecond) // nothing may happen meanwhile; a busy machine cannot make more happen
	e.Lock()
	defer e.Unlock()
	if n := e.Batch().Passes() - before; n > 200 {
		t.Errorf("%d passes in 50 ms without traffic", n)
	}
}

// rdm is an RDM endpoint with its driver and the objects bound to it.
type rdm struct {
	*core.Endpoint
	drv *rdmEndpoint
	q   *core.CompletionQueue
	v   *core.AddressVector
}

func openEndpoint(t testing.TB, d *dom, info *core.Info) *rdm {
	t.Helper()
	q, err := d.OpenCQ(core.CQAttr{WaitObj: core.WaitUnspec})
	must(t, err)
	v, err := d.OpenAV(core.AVAttr{})
	must(t, err)
	ep, err := d.OpenEndpoint(info)
	must(t, err)
	must(t, ep.BindCQ(q, core.BindTransmit|core.BindRecv))
	must(t, ep.BindAV(v, 0))
	must(t, ep.Enable())
	return &rdm{ep, ep.Driver().(*rdmEndpoint), q, v}
}

func (r *rdm) closeAll(t testing.TB) {
	t.Helper()
	must(t, r.Close())
	must(t, r.q.Close())
	must(t, r.v.Close())
}

// TestResetWhileStalled resets a connection that is not read, because its unexpected messages fill their budget.
// The hang-up cannot be received yet, and must not keep the domain's goroutine busy.
func TestResetWhileStalled(t *testing.T) {
	f, d, info := fixture(t, core.EPTypeRDM, map[string]string{"FI_TCP_UNEXP_BYTES": "4096"})
	ep := openEndpoint(t, d, info)
	c := raw(t, ep.drv.Local())
	_, err := c.Write(wire.AppendCM(nil, wire.CMConnReq, wire.RDMBlob{Version: 1, Port: 9, PID: 1}.Append(nil)))
	must(t, err)
	h := wire.Header{Op: wire.OpMsg}
	h.SetPayload(64 << 10)
	for range 2 {
		_, err = c.Write(append(h.Append(nil, wire.Little), make([]byte, 64<<10)...))
		must(t, err)
	}
	eventually(t, ep.drv.d.prog, "the connection stalls", func() bool {
		for p := range ep.drv.Each {
			return p.Conn.Stalled()
		}
		return false
	})
	quiet(t, ep.drv.d.prog)
	reset(c)
	quiet(t, ep.drv.d.prog)
	// Receives take the messages and end the stall. Then the reset is received.
	for range 2 {
		must(t, ep.Recv(make([]byte, 64<<10), 0, core.AddrUnspec, 1))
	}
	eventually(t, ep.drv.d.prog, "the end of the connection is noticed", func() bool { return ep.drv.Len() == 0 })
	ep.closeAll(t)
	must(t, d.Close())
	must(t, f.Close())
}

// TestResetWhileDeciding resets a connection whose request the application has not answered yet.
func TestResetWhileDeciding(t *testing.T) {
	f, d, info := fixture(t, core.EPTypeMsg, map[string]string{"FI_TCP_CONNECT_TIMEOUT": "300"})
	eq, err := f.Driver().OpenEQ(core.EQAttr{}, nil)
	must(t, err)
	pep, err := f.Driver().OpenPassiveEndpoint(info, nil)
	must(t, err)
	must(t, pep.BindEQ(eq, 0))
	must(t, pep.Listen())
	p := pep.(*passive)
	c := raw(t, p.l.local)
	_, err = c.Write(append(wire.AppendCM(nil, wire.CMConnReq, nil), 1, 2, 3)) // with data that must not be read yet
	must(t, err)
	eventually(t, p.prog, "the request is reported", func() bool {
		for r := range p.reqs {
			return r.told
		}
		return false
	})
	quiet(t, p.prog)
	reset(c)
	quiet(t, p.prog)
	eventually(t, p.prog, "the request ends", func() bool { return len(p.reqs) == 0 })
	must(t, pep.Close())
	must(t, eq.Close())
	must(t, d.Close())
	must(t, f.Close())
}

// TestPools exchanges messages of all sizes between several endpoints, closes them in the middle, and counts the
// buffers that the pools have handed out.
func TestPools(t *testing.T) {
	f, d, info := fixture(t, core.EPTypeRDM, nil)
	hub := openEndpoint(t, d, info)
	var spokes []*rdm
	name, err := hub.Name()
	must(t, err)
	in := make([]byte, 1<<20)
	for range 20 {
		s := openEndpoint(t, d, info)
		spokes = append(spokes, s)
		fi := make([]core.FIAddr, 1)
		_, err := s.v.Insert([]core.Addr{name}, fi, 0)
		must(t, err)
		a, err := s.Name()
		must(t, err)
		_, err = hub.v.Insert([]core.Addr{a}, fi, 0)
		must(t, err)
	}
	sent := 0
	for i, size := range []int{0, 8, 5000, 100_000, 1 << 20} {
		out := make([]byte, size)
		for k, s := range spokes {
			must(t, s.Send(out, 0, 0, 1))
			sent++
			if k%2 == i%2 {
				must(t, hub.Recv(in, 0, core.AddrUnspec, 2))
			}
			must(t, hub.Send(out, 0, core.FIAddr(k), 3)) // never received
		}
		for range 20 {
			hub.q.Read(make([]core.CQEntry, 8))
		}
	}
	for i, s := range spokes {
		if i%2 == 0 {
			s.closeAll(t)
		}
	}
	hub.q.Read(nil)
	hub.closeAll(t)
	for i, s := range spokes {
		if i%2 == 1 {
			s.closeAll(t)
		}
	}
	if p := d.drv.Pool(); p.OutChunks != 0 || p.OutTx != 0 || p.OutRx != 0 || p.OutUnexp != 0 {
		t.Errorf("not given back: %d chunks, %d transmits, %d receives, %d unexpected messages",
			p.OutChunks, p.OutTx, p.OutRx, p.OutUnexp)
	}
	must(t, d.Close())
	must(t, f.Close())
}
