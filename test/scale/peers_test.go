//go:build linux

package scale

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric"
	"gofabric/core"
	"gofabric/test/need"
	"gofabric/test/wait"
)

const (
	wantPeers = 10_000
	// perPeer is how many bytes a connected peer may cost. memBudget is the limit for wantPeers peers together with
	// the runtime.
	perPeer   = 3 << 10
	memBudget = 64 << 20
	window    = 256 // receives posted at a time
)

// usage is what the process has in use.
type usage struct {
	heap, rss       int64
	goroutines, fds int
}

func measure(t *testing.T) usage {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{heap: int64(m.HeapAlloc), goroutines: runtime.NumGoroutine()}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("needs /proc to count descriptors: %v", err)
	}
	u.fds = len(fds)
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int64
	fmt.Sscan(string(b), &size, &resident)
	u.rss = resident * int64(os.Getpagesize())
	return u
}

func (u usage) String() string {
	return fmt.Sprintf("heap %.2f MiB, RSS %.2f MiB, %d goroutines, %d descriptors",
		mib(u.heap), mib(u.rss), u.goroutines, u.fds)
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// descriptors raises the limit of open files as far as possible and returns how many of n peers it allows.
func descriptors(t *testing.T, n int) int {
	t.Helper()
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	lim.Cur = lim.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Logf("RLIMIT_NOFILE cannot be raised: %v", err)
	}
	if room := int(min(lim.Max, 1<<30)) - 256; room < n {
		t.Logf("the hard limit of open files, %d, allows only %d peers instead of %d (ulimit -Hn)", lim.Max, room, n)
		n = room
	}
	if n < 100 {
		need.Missing(t, "too few open files are allowed for a test of many peers (ulimit -Hn)")
	}
	return n
}

// place is an RDM endpoint with its objects.
type place struct {
	t      *testing.T
	fabric *core.Fabric
	domain *core.Domain
	cq     *core.CompletionQueue
	av     *core.AddressVector
	ep     *core.Endpoint
	hold   bool // exchange answers after it has received from all
}

func open(t *testing.T, peers int) *place {
	t.Helper()
	return openOver(t, "tcp", "127.0.0.1", peers)
}

// openOver opens an RDM endpoint of a stack at an address.
func openOver(t *testing.T, stack, node string, peers int) *place {
	t.Helper()
	h := core.NewHints()
	h.Caps, h.Fabric.ProvName, h.EP.Type = core.CapMsg|core.CapSource, stack, core.EPTypeRDM
	list, _, err := gofabric.GetInfo(core.Query{Node: node, Flags: core.InfoSource, Hints: h})
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t}
	info := list[0]
	p.fabric, err = gofabric.OpenFabric(info)
	p.check(err)
	p.domain, err = p.fabric.OpenDomain(info)
	p.check(err)
	p.cq, err = p.domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged, WaitObj: core.WaitUnspec})
	p.check(err)
	p.av, err = p.domain.OpenAV(core.AVAttr{Type: core.AVTable, Count: peers})
	p.check(err)
	p.ep, err = p.domain.OpenEndpoint(info)
	p.check(err)
	p.check(p.ep.BindCQ(p.cq, core.BindTransmit|core.BindRecv))
	p.check(p.ep.BindAV(p.av, 0))
	p.check(p.ep.Enable())
	return p
}

func (p *place) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) close() {
	p.t.Helper()
	p.check(p.ep.Close())
	p.check(p.av.Close())
	p.check(p.cq.Close())
	p.check(p.domain.Close())
	p.check(p.fabric.Close())
}

// insert inserts the crowd's addresses. Peer i gets index i.
func (p *place) insert(n int) {
	p.t.Helper()
	addrs := make([]core.Addr, n)
	for i := range addrs {
		addrs[i] = core.IPAddr(netip.AddrPortFrom(netip.MustParseAddr(peersIP), uint16(firstPort+i)))
	}
	fi := make([]core.FIAddr, n)
	if k, err := p.av.Insert(addrs, fi, 0); err != nil || k != n {
		p.t.Fatalf("inserted %d of %d: %v", k, n, err)
	}
	for i, f := range fi {
		if f != core.FIAddr(i) {
			p.t.Fatalf("peer %d has index %d", i, f)
		}
	}
}

// exchange receives one message from each of n peers, beginning with first, and answers it.
func (p *place) exchange(r children, first, n int) {
	p.t.Helper()
	bufs := make([][8]byte, window)
	answers := make([][8]byte, n)
	post := func(i int) { p.check(p.ep.Recv(bufs[i][:], 0, core.AddrUnspec, core.OpContext(i))) }
	for i := range min(window, n) {
		post(i)
	}
	r.order("speak")
	seen := make([]bool, n)
	received, sent, spoken := 0, 0, false
	answer := func(k int, to core.FIAddr) {
		binary.LittleEndian.PutUint64(answers[k][:], ^uint64(first+k))
		p.check(p.ep.Send(answers[k][:], 0, to, 0))
	}
	var from []core.FIAddr
	if p.hold {
		from = make([]core.FIAddr, n)
	}
	entries, src := make([]core.CQEntry, 64), make([]core.FIAddr, 64)
	end := time.Now().Add(patience)
	for received < n || sent < n || !spoken {
		spoken = spoken || r.done()
		k, err := p.cq.ReadFrom(entries, src)
		if err == core.ErrAgain {
			if time.Now().After(end) {
				p.t.Fatalf("%d received and %d answered of %d", received, sent, n)
			}
			continue
		}
		p.check(err)
		for j, e := range entries[:k] {
			if e.Flags&core.CompRecv == 0 {
				sent++
				continue
			}
			i := int(binary.LittleEndian.Uint64(bufs[e.Ctx][:]))
			k := i - first
			if k < 0 || k >= n || seen[k] || src[j] != core.FIAddr(i) {
				p.t.Fatalf("message %d from index %d: not one of %d from %d on, or a duplicate", i, src[j], n, first)
			}
			seen[k] = true
			received++
			if !p.hold {
				answer(k, src[j])
			} else if from[k] = src[j]; received == n {
				for k, to := range from {
					answer(k, to)
				}
			}
			if received+window <= n {
				post(int(e.Ctx))
			}
		}
	}
	r.do("listen")
}

// TestPeers connects ten thousand peers to one endpoint.
func TestPeers(t *testing.T) {
	for side, n := range map[string]int{"endpoint closes": wantPeers, "peers close": wantPeers / 5} {
		t.Run(side, func(t *testing.T) {
			if need.Raced {
				n /= 10
			}
			n = descriptors(t, n)
			before := measure(t)
			p := open(t, n)
			empty := measure(t)
			r := startPeers(t, name(t, p.ep))
			began := time.Now()
			r.do(fmt.Sprintf("connect %d", n))
			connected := time.Since(began)
			full := measure(t)
			began = time.Now()
			p.insert(n)
			inserted := time.Since(began)
			began = time.Now()
			p.exchange(r, 0, n)
			exchanged := time.Since(began)
			busy := measure(t)
			t.Logf("empty: %v", empty)
			t.Logf("%d peers: %v", n, full)
			t.Logf("after a message each way: %v", busy)
			t.Logf("%d bytes of heap and %d of RSS per peer; connect %v, insert %v, exchange %v",
				(full.heap-empty.heap)/int64(n), (full.rss-empty.rss)/int64(n), connected, inserted, exchanged)
			if g := full.goroutines - empty.goroutines; g > 10 { // the child's pipes have some
				t.Errorf("%d goroutines more with peers than without", g)
			}
			if got := (full.heap - empty.heap) / int64(n); got > perPeer && !need.Raced {
				t.Errorf("%d bytes per peer, want at most %d", got, perPeer)
			}
			for _, u := range []usage{full, busy} {
				if d := u.rss - empty.rss; d > memBudget && !need.Raced {
					t.Errorf("RSS grew by %.1f MiB, want at most %.1f", mib(d), mib(memBudget))
				}
				if d := u.heap - empty.heap; d > memBudget && !need.Raced {
					t.Errorf("heap grew by %.1f MiB, want at most %.1f", mib(d), mib(memBudget))
				}
			}
			began = time.Now()
			if side == "peers close" {
				r.do("close")
				p.drained(empty.fds)
			}
			p.close()
			after := measure(t)
			t.Logf("closed in %v: %v", time.Since(began), after)
			if after.fds > before.fds+3 { // the child's pipes
				t.Errorf("%d descriptors left, %d before", after.fds, before.fds)
			}
			if after.goroutines > before.goroutines+6 {
				t.Errorf("%d goroutines left, %d before", after.goroutines, before.goroutines)
			}
			if d := after.heap - before.heap; d > 4<<20 {
				t.Errorf("%.1f MiB of heap left", mib(d))
			}
		})
	}
}

func name(t *testing.T, ep *core.Endpoint) string {
	t.Helper()
	a, err := ep.Name()
	if err != nil {
		t.Fatal(err)
	}
	return a.IP.String()
}

// drained waits until the endpoint has closed the connections of its peers, which have ended.
func (p *place) drained(fds int) {
	p.t.Helper()
	wait.Until(p.t, fmt.Sprintf("the descriptors of peers are closed (%d before they connected)", fds), func() bool {
		left, _ := os.ReadDir("/proc/self/fd")
		return len(left) <= fds+8
	})
}
