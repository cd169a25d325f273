//go:build linux

package scale

// What peers cost that are spoken with now and then, over the layers.

import (
	"testing"
	"time"

	"gofabric/core"
)

// settle is how long it takes usually until nothing is under way.
const settle = 1500 * time.Millisecond

// idlers says which peers, and what they may cost.
type idlers struct {
	stack string
	peers string // a variable that the peers see, or "-"
	limit int64  // bytes of heap for each
	fds   int    // descriptors for each
}

// TestRXDPeers has peers of one socket.
func TestRXDPeers(t *testing.T) { idlePeers(t, idlers{"udp;ofi_rxd", "-", 1 << 10, 0}) }

// TestRXMPeers has peers of a connection each, which has the layer's state beside its own; and peers that speak native's protocol, each of which has a gateway.
func TestRXMPeers(t *testing.T) {
	t.Run("direct", func(t *testing.T) { idlePeers(t, idlers{"tcp;ofi_rxm", "-", 2 << 10, 1}) })
	t.Run("native", func(t *testing.T) { idlePeers(t, idlers{"tcp;ofi_rxm", "FI_OFI_RXM_EXTENSIONS=0", 6 << 10, 1}) })
}

// grown is by how much what an endpoint keeps for all its peers together may still grow after the first of them, in bytes of heap: tables do so in steps, and pools when
// the scheduler has more under way at once than before.
const grown = 384 << 10

// idlePeers exchanges messages between one endpoint and ten thousand, of five processes. What an endpoint keeps for all its peers together is there
// after the first fifth of them; the others, as many at a time, show what one costs.
func idlePeers(t *testing.T, of idlers) {
	n := size(wantPeers)
	if of.fds > 0 {
		n = descriptors(t, n)
	}
	before := measure(t)
	p := openOver(t, of.stack, "127.0.0.1", n)
	began := time.Now()
	g, addrs := startRegion(t, of.stack, of.peers, name(t, p.ep), 5, n)
	opened := time.Since(began)
	fi := make([]core.FIAddr, n)
	if k, err := p.av.Insert(addrs, fi, 0); err != nil || k != n || fi[n-1] != core.FIAddr(n-1) {
		t.Fatalf("inserted %d of %d: %v", k, n, err)
	}
	empty := measure(t)
	part := n / len(g)
	p.hold = true // as many at a time are under way in each part, so that no more is kept after the first
	for range 6 { // several times, for how many are under way at once depends on the scheduler, and what they needed is kept
		p.exchange(g[:1], 0, part)
	}
	p.rest(settle)
	few := measure(t)
	for k := range g {
		p.exchange(g[k:k+1], k*part, part)
	}
	p.rest(settle)
	idle := measure(t)
	each := (idle.heap - few.heap) / int64(n-part)
	limit := of.limit + grown/int64(n-part)
	for range 5 { // on a busy machine it takes longer until the last peers are idle
		if each <= limit {
			break
		}
		p.rest(settle)
		idle = measure(t)
		each = (idle.heap - few.heap) / int64(n-part)
	}
	t.Logf("empty: %v", empty)
	t.Logf("%d idle: %v", part, few)
	t.Logf("%d idle: %v", n, idle)
	p.hold = false
	began = time.Now()
	p.exchange(g, 0, n)
	first := time.Since(began)
	began = time.Now()
	p.exchange(g, 0, n)
	t.Logf("%d peers: opened in %v, exchange %v and %v; %d bytes of heap for each when idle", n, opened.Round(time.Millisecond),
		first.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), each)
	t.Logf("after two messages each way at once: %v", measure(t))
	if each > limit && !raced {
		t.Errorf("%d bytes for each idle peer, want at most %d", each, limit)
	}
	if d := idle.goroutines - empty.goroutines; d > 0 {
		t.Errorf("%d goroutines more with peers than without", d)
	}
	if d := idle.fds - empty.fds - of.fds*n; d > 0 {
		t.Errorf("%d descriptors more with peers than without, and the %d of their connections", d, of.fds*n)
	}
	g.do("close")
	p.close()
	after := measure(t)
	if after.fds > before.fds+3*len(g)+2 || after.goroutines > before.goroutines+4*len(g)+2 { // the children's pipes
		t.Errorf("before: %v, after: %v", before, after)
	}
	if d := after.heap - before.heap; d > 4<<20 {
		t.Errorf("%.1f MiB of heap left", mib(d))
	}
}

// rest reads the queue now and then for a while; nothing comes.
func (p *place) rest(d time.Duration) {
	p.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if n, err := p.cq.Read(make([]core.CQEntry, 1)); err != core.ErrAgain {
			p.t.Fatalf("%d completions of nothing: %v", n, err)
		}
	}
}
