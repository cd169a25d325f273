//go:build linux

package hostile

// A reliable-datagram endpoint under attack. While hostile peers send it datagrams, it serves an honest gofabric peer
// and an honest peer that uses only native's format.

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/host"
	"gofabric/provider/udp"
	"gofabric/test/conform"
	"gofabric/util/fault"
	"gofabric/util/rxd"
)

// honestTag is the prefix of the tags of honest messages. No hostile message matches them.
const honestTag = uint64(0x7077) << 48

// Contexts of honest operations. Other contexts belong to hostile peers.
const (
	ctxReceived core.OpContext = 1<<32 + iota
	ctxSent
)

// ownNet returns the prefix of this process' loopback addresses. Datagrams that other processes still send to ports
// that this process gets do not arrive here.
func ownNet() string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.", 128|pid>>8&127, pid&255)
}

// endpoint is an endpoint with its objects.
type endpoint struct {
	t      *testing.T
	name   string
	info   *core.Info
	fabric *core.Fabric
	domain *core.Domain
	cq     *core.CompletionQueue
	av     *core.AddressVector
	ep     *core.Endpoint
	addr   core.Addr
	es     []core.CQEntry
	done   map[core.OpContext]int
	lost   []core.CQErrEntry // of hostile peers
}

// openEndpoint opens an endpoint of udp;ofi_rxd at an address, with parameters of its own. It is closed when the test
// ends.
func openEndpoint(t *testing.T, name, node string, params map[string]string) *endpoint {
	t.Helper()
	store, err := core.NewParams(func(name string) (string, bool) { v, ok := params[name]; return v, ok }, "")
	check(t, err)
	machine := &host.Host{}
	u, err := udp.New(store, machine)
	check(t, err)
	r, err := rxd.New(store, machine)
	check(t, err)
	f, err := fault.New(store, machine)
	check(t, err)
	reg := core.NewRegistry(r, f, u)
	h := core.NewHints()
	h.Caps, h.Fabric.ProvName, h.EP.Type = core.CapMsg|core.CapTagged|core.CapRMA|core.CapAtomic, "udp;ofi_rxd",
		core.EPTypeRDM
	list, _, err := core.GetInfo(reg, machine, store, core.Query{Node: node, Flags: core.InfoSource, Hints: h})
	check(t, err)
	k := &endpoint{t: t, name: name, info: list[0], es: make([]core.CQEntry, 64), done: map[core.OpContext]int{}}
	k.fabric, err = core.OpenFabric(reg, k.info)
	check(t, err)
	k.domain, err = k.fabric.OpenDomain(k.info)
	check(t, err)
	k.cq, err = k.domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged, WaitObj: core.WaitUnspec})
	check(t, err)
	k.av, err = k.domain.OpenAV(core.AVAttr{Type: core.AVTable})
	check(t, err)
	k.ep, err = k.domain.OpenEndpoint(k.info)
	check(t, err)
	check(t, errors.Join(k.ep.BindCQ(k.cq, core.BindTransmit|core.BindRecv), k.ep.BindAV(k.av, 0), k.ep.Enable()))
	k.addr, err = k.ep.Name()
	check(t, err)
	t.Cleanup(k.close)
	return k
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (k *endpoint) close() {
	if err := errors.Join(k.ep.Close(), k.av.Close(), k.cq.Close(), k.domain.Close(), k.fabric.Close()); err != nil {
		k.t.Errorf("%s: close: %v", k.name, err)
	}
}

func (k *endpoint) insert(a core.Addr) core.FIAddr {
	k.t.Helper()
	fi := make([]core.FIAddr, 1)
	if n, err := k.av.Insert([]core.Addr{a}, fi, 0); n != 1 || err != nil {
		k.t.Fatalf("%s: insert: %d %v", k.name, n, err)
	}
	return fi[0]
}

// pump makes a pass and counts completions.
func (k *endpoint) pump() {
	k.t.Helper()
	n, err := k.cq.Read(k.es)
	switch {
	case err == core.ErrAvail:
		var e core.CQErrEntry
		check(k.t, k.cq.ReadErr(&e))
		if e.Ctx == ctxReceived || e.Ctx == ctxSent {
			k.t.Fatalf("%s: an honest operation failed: %v %s", k.name, e.Err, e.Detail)
		}
		k.lost = append(k.lost, e)
	case err == core.ErrAgain:
	default:
		check(k.t, err)
	}
	for _, e := range k.es[:max(n, 0)] {
		k.done[e.Ctx]++
	}
}

// stats returns the endpoint's counts.
func (k *endpoint) stats() rxd.Stats {
	s, ok := rxd.StatsOf(k.ep.Driver())
	if !ok {
		k.t.Fatal("the endpoint is not one of rxd")
	}
	return s
}

// victim is the endpoint under attack with the honest peers that it serves.
type victim struct {
	*endpoint
	honest []*endpoint
	there  []core.FIAddr // the victim's address in the peers' vectors
	back   []core.FIAddr // the peers' addresses in the victim's vector
	turn   uint64
	// between, if not nil, is called between passes.
	between func()
	mem     []byte // registered, and a target of hostile peers
	mr      *core.MemoryRegion
	seen    map[netip.AddrPort]bool // source addresses of hostile peers
}

// memKey is a key that hostile peers may guess, for tests of bounds. They may not write there.
const memKey = 77

var swift = map[string]string{"FI_OFI_RXD_PEER_TIMEOUT": "3000",
	"FI_OFI_RXD_HANDSHAKE_TIMEOUT": "3000", "FI_OFI_RXD_LINGER": "0",
	"FI_OFI_RXD_UNEXP_BYTES": "4194304"}

// with returns a copy of m with more pairs.
func with(m map[string]string, more ...string) map[string]string {
	c := map[string]string{}
	for k, v := range m {
		c[k] = v
	}
	for i := 0; i < len(more); i += 2 {
		c[more[i]] = more[i+1]
	}
	return c
}

// openVictim opens a victim and serves each honest peer once.
func openVictim(t *testing.T) *victim {
	t.Helper()
	conform.NoLeaks(t)
	own := ownNet()
	c := &victim{endpoint: openEndpoint(t, "victim", own+"1", swift),
		mem: conform.Pattern(secret, 8), seen: map[netip.AddrPort]bool{}}
	for i, m := range []map[string]string{swift, with(swift, "FI_OFI_RXD_EXTENSIONS", "0")} {
		k := openEndpoint(t, []string{"gofabric peer", "native peer"}[i], fmt.Sprintf("%s%d", own, 2+i), m)
		c.honest = append(c.honest, k)
		c.there = append(c.there, k.insert(c.addr))
		c.back = append(c.back, c.insert(k.addr))
	}
	mr, err := c.domain.RegMR(&core.MRAttr{IOV: [][]byte{c.mem}, Access: core.AccessRemoteRead, RequestedKey: memKey})
	check(t, err)
	c.mr = mr
	t.Cleanup(func() {
		if !t.Failed() {
			conform.CheckPattern(t, "registered memory", c.mem, secret, 8)
		}
		check(t, mr.Close())
	})
	c.serve()
	return c
}

// pumpAll makes a pass for each endpoint.
func (c *victim) pumpAll() {
	c.endpoint.pump()
	for _, k := range c.honest {
		k.pump()
	}
	if c.between != nil {
		c.between()
	}
}

// serve has each honest peer send a message and receive it back.
func (c *victim) serve() {
	c.t.Helper()
	c.turn++
	n := []int{40, 3000, 20000, 0}[c.turn%4]
	for i := range c.honest {
		c.trip(i, n)
	}
}

// trip makes a round trip of n bytes with an honest peer.
func (c *victim) trip(i, n int) {
	c.t.Helper()
	k, tag := c.honest[i], honestTag|c.turn
	src, mid, dst := conform.Pattern(n, c.turn), make([]byte, n), make([]byte, n)
	post := func(k *endpoint, what string, f func() error) {
		c.t.Helper()
		c.until(func() string { return fmt.Sprintf("%s cannot post a %s", k.name, what) }, func() bool {
			err := f()
			if err != nil && err != core.ErrAgain {
				c.t.Fatalf("%s: %s: %v", k.name, what, err)
			}
			return err == nil
		})
	}
	began := [4]int{c.done[ctxReceived], c.done[ctxSent], k.done[ctxReceived], k.done[ctxSent]}
	post(c.endpoint, "receive", func() error { return c.ep.TRecv(mid, 0, core.AddrUnspec, tag, 0, ctxReceived) })
	post(k, "receive", func() error { return k.ep.TRecv(dst, 0, core.AddrUnspec, tag, 0, ctxReceived) })
	post(k, "send", func() error { return k.ep.TSend(src, 0, c.there[i], tag, ctxSent) })
	where := func() string {
		return fmt.Sprintf("%s, %d bytes: victim received %d sent %d, peer received %d sent %d\nvictim %+v\npeer %+v",
			k.name, n, c.done[ctxReceived]-began[0],
			c.done[ctxSent]-began[1], k.done[ctxReceived]-began[2], k.done[ctxSent]-began[3], c.stats(), k.stats())
	}
	c.until(where, func() bool { return c.done[ctxReceived] > began[0] && k.done[ctxSent] > began[3] })
	post(c.endpoint, "send", func() error { return c.ep.TSend(mid, 0, c.back[i], tag, ctxSent) })
	c.until(where, func() bool { return c.done[ctxSent] > began[1] && k.done[ctxReceived] > began[2] })
	conform.CheckPattern(c.t, "echo", dst, n, c.turn)
}

// until makes passes until cond is true.
func (c *victim) until(what func() string, cond func() bool) {
	c.t.Helper()
	end := time.Now().Add(conform.Deadline)
	for i := 0; !cond(); i++ {
		if i%16 == 15 {
			if time.Now().After(end) {
				c.t.Fatalf("no service: %s", what())
			}
			time.Sleep(20 * time.Microsecond) // attackers in other goroutines get the cores
		}
		c.pumpAll()
	}
}
