//go:build linux

package scale

// The cost of peers that exchange messages rarely, over the layers.

import (
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/need"
)

// settle is how long it usually takes until nothing is pending.
const settle = 1500 * time.Millisecond

// idlers are a kind of peers, and limits for their cost.
type idlers struct {
	stack string
	peers string // an FI_* variable of the peers, or "-"
	limit int64  // bytes of heap for each
	fds   int    // descriptors for each
}

// TestRXDPeers has peers of one socket.
func TestRXDPeers(t *testing.T) { idlePeers(t, idlers{"udp;ofi_rxd", "-", 1 << 10, 0}) }

// TestRXMPeers has peers with a connection each, for which the layer keeps state, too, and peers that use native's
// packets, for each of which it has a gateway.
func TestRXMPeers(t *testing.T) {
	t.Run("direct", func(t *testing.T) { idlePeers(t, idlers{"tcp;ofi_rxm", "-", 2 << 10, 1}) })
	t.Run("native", func(t *testing.T) { idlePeers(t, idlers{"tcp;ofi_rxm", "FI_OFI_RXM_EXTENSIONS=0", 6 << 10, 1}) })
}

// grown is how much the memory that an endpoint keeps for all its peers together may grow after the first of them, in
// bytes of heap. Tables grow in steps, and pools grow when more operations are pending than before.
const grown = 384 << 10

// idlePeers exchanges messages between one endpoint and ten thousand in five processes. After the first fifth of them,
// the endpoint has what it keeps for all peers together. The other parts, of the same size, show what one peer costs.
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
	p.hold = true // each part has as many pending operations, so pools do not grow after the first
	// Several times, because the scheduler decides how many operations are pending, and pools keep the maximum.
	for range 6 {
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
	for range 5 { // on a busy machine the last peers become idle later
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
	t.Logf("%d peers: opened in %v, exchange %v and %v; %d bytes of heap for each when idle",
		n, opened.Round(time.Millisecond),
		first.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), each)
	t.Logf("after two messages each way at once: %v", measure(t))
	if each > limit && !need.Raced {
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
	// The children's pipes have descriptors and goroutines.
	if after.fds > before.fds+3*len(g)+2 || after.goroutines > before.goroutines+4*len(g)+2 {
		t.Errorf("before: %v, after: %v", before, after)
	}
	if d := after.heap - before.heap; d > 4<<20 {
		t.Errorf("%.1f MiB of heap left", mib(d))
	}
}

// rest reads the queue at times for a while, as an idle application does. No completion arrives.
func (p *place) rest(d time.Duration) {
	p.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if n, err := p.cq.Read(make([]core.CQEntry, 1)); err != core.ErrAgain {
			p.t.Fatalf("%d unexpected completions: %v", n, err)
		}
	}
}
