// Ports for tests.

package udp

import (
	"fmt"
	"gofabric/internal/netx"
	"gofabric/test/need"
	"gofabric/test/wait"
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"gofabric/core"
	"gofabric/internal/transport/datagram"
)

// patience is the longest time that a test waits for an expected event.
const patience = wait.Limit

var (
	loopback4 = netip.MustParseAddr("127.0.0.1")
	loopback6 = netip.MustParseAddr("::1")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// datagram is a received datagram.
type gotDatagram struct {
	from netip.AddrPort
	data string
}

// inbox keeps what a port receives.
type inbox struct {
	got               []gotDatagram
	runs              int // calls that delivered more than one
	drained, writable int
	err               error
	hook              func(from netip.AddrPort, b []byte)
}

func (r *inbox) Received(from netip.AddrPort, b []byte, seg int) {
	if seg < len(b) {
		r.runs++
	}
	for first := true; first || len(b) > 0; first = false {
		n := min(seg, len(b))
		r.got = append(r.got, gotDatagram{from, string(b[:n])})
		b = b[n:]
	}
	if r.hook != nil {
		r.hook(from, b)
	}
}

func (r *inbox) Drained()       { r.drained++ }
func (r *inbox) Writable()      { r.writable++ }
func (r *inbox) Lost(err error) { r.err = err }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// testDomain opens a domain with FI_UDP_* variables, given as "gso", "0".
func testDomain(t testing.TB, variables ...string) *domain {
	t.Helper()
	env := map[string]string{}
	for i := 0; i < len(variables); i += 2 {
		env["FI_UDP_"+variables[i]] = variables[i+1]
	}
	params, err := core.NewParams(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, "")
	must(t, err)
	p, err := New(params, nil)
	must(t, err)
	info := p.Infos(nil)[0]
	f, err := p.OpenFabric(info)
	must(t, err)
	d, err := f.OpenDomain(info)
	must(t, err)
	t.Cleanup(func() {
		must(t, d.Close())
		must(t, f.Close())
	})
	return d.(*domain)
}

// portAt opens a port at an address. The number 0 selects any free port.
func portAt(t testing.TB, d *domain, at netip.AddrPort, r datagram.Receiver) *port {
	t.Helper()
	info := d.info.Dup()
	info.SrcAddr = core.IPAddr(at)
	opened, err := d.OpenPort(info, r)
	must(t, err)
	p := opened.(*port)
	t.Cleanup(func() {
		d.prog.Lock()
		defer d.prog.Unlock()
		if !p.closed {
			must(t, p.Close())
		}
	})
	return p
}

func testPort(t testing.TB, d *domain, at netip.Addr) (*port, *inbox) {
	t.Helper()
	r := &inbox{}
	return portAt(t, d, netip.AddrPortFrom(at, 0), r), r
}

// until makes passes, with the lock held, until done.
func (d *domain) until(t testing.TB, what string, done func() bool) {
	t.Helper()
	wait.Polling(t, what, func() bool {
		d.prog.Lock()
		defer d.prog.Unlock()
		d.prog.Pass()
		return done()
	})
}

// untilItself waits until done, which is called with the lock held. It makes no passes.
func (d *domain) untilItself(t testing.TB, what string, done func() bool) {
	t.Helper()
	wait.Until(t, what, func() bool {
		d.prog.Lock()
		defer d.prog.Unlock()
		return done()
	})
}

// send sends with the lock held.
func (p *port) send(dest netip.AddrPort, seg int, parts ...[]byte) error {
	p.d.prog.Lock()
	defer p.d.prog.Unlock()
	return p.Send(dest, parts, seg)
}

func (p *port) counts() datagram.Stats {
	p.d.prog.Lock()
	defer p.d.prog.Unlock()
	return p.Stats()
}

// batch returns the port's datapath if that is a batchDatapath, nil if not.
func (p *port) batch() *batchDatapath {
	l, _ := p.main.datapath.(*batchDatapath)
	return l
}

// notHere skips a test that needs what the system lacks. Where all tests are required it fails instead, except with
// the portable code, which lacks it by design.
func notHere(t *testing.T, what ...any) {
	t.Helper()
	if netx.Batches {
		need.Missing(t, "%s", fmt.Sprint(what...))
	}
	t.Skip(what...)
}
