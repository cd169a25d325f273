package chaos

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"time"

	"gofabric"
	"gofabric/core"
)

// A node is one process. What it has of memory for the others: a sum for each, and a slot for each to write to.

const (
	caps    = core.CapMsg | core.CapTagged | core.CapRMA | core.CapAtomic | core.Source
	key     = 77
	slotMax = 160 << 10 // bytes
	msgMax  = 200 << 10
	// bound is how long an operation may take.
	bound = 10 * time.Second
	// pauseMax and sorryMax are how long a node waits before the next operation of a kind to a peer, at most, after one that succeeded and one that failed.
	pauseMax = 15 * time.Millisecond
	sorryMax = 60 * time.Millisecond
)

// setup is what a node is started with, in its environment.
type setup struct {
	Stack    string
	Me, Life int
	Node     string
	Ports    []int
	Seed     uint64
}

type node struct {
	setup
	rng    *rand.Rand
	fabric core.Fabric
	domain core.Domain
	cq     core.CompletionQueue
	av     core.AddressVector
	ep     core.Endpoint
	mr     core.MemoryRegion
	mem    []byte
	base   uint64

	peers    []*peer
	ops      map[core.Context]*op
	last     core.Context
	ended    int
	draining bool
	failures []string
}

// nodeMain is the program of a node. Its end of the standard input is its end.
func nodeMain(text string) {
	n := &node{ops: map[core.Context]*op{}}
	if err := json.Unmarshal([]byte(text), &n.setup); err != nil {
		panic(err)
	}
	n.rng = rand.New(rand.NewPCG(n.Seed, uint64(n.Me)<<32|uint64(n.Life)))
	if err := n.open(); err != nil {
		fmt.Fprintln(os.Stderr, "open:", err)
		os.Exit(2)
	}
	commands := make(chan string)
	go func() {
		defer close(commands)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			commands <- in.Text()
		}
	}()
	n.run(commands)
	if err := n.close(); err != nil {
		fmt.Fprintln(os.Stderr, "close:", err)
		os.Exit(2)
	}
	os.Exit(0)
}

func (n *node) slot(who int) []byte { return n.mem[n.slotAt(who):][:slotMax] }

func (n *node) slotAt(who int) int { return 8*len(n.Ports) + who*slotMax }

func (n *node) open() error {
	h := core.NewHints()
	h.Caps, h.Fabric.ProvName, h.EP.Type = caps, n.Stack, core.EPTypeRDM
	infos, _, err := gofabric.GetInfo(core.Query{Node: n.Node, Service: fmt.Sprint(n.Ports[n.Me]), Flags: core.Source, Hints: h})
	if err != nil {
		return err
	}
	info := infos[0]
	n.mem = make([]byte, n.slotAt(len(n.Ports)))
	for i := range n.Ports {
		binary.NativeEndian.PutUint64(n.mem[8*i:], uint64(n.Life)<<32)
		stamp{kind: anInitial, owner: uint32(n.Me), life: uint32(n.Life)}.fill(n.slot(i))
		n.peers = append(n.peers, &peer{index: i})
	}
	var addrs []core.Addr
	for _, port := range n.Ports {
		a, err := core.ParseAddr(fmt.Sprintf("fi_sockaddr_in://%s:%d", n.Node, port))
		if err != nil {
			return err
		}
		addrs = append(addrs, a)
	}
	fis := make([]core.FIAddr, len(addrs))
	for _, step := range []func() error{
		func() (err error) { n.fabric, err = gofabric.OpenFabric(info); return },
		func() (err error) { n.domain, err = n.fabric.OpenDomain(info); return },
		func() (err error) {
			n.cq, err = n.domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged, WaitObj: core.WaitUnspec})
			return
		},
		func() (err error) { n.av, err = n.domain.OpenAV(core.AVAttr{}); return },
		func() error { _, err := n.av.Insert(addrs, fis, 0); return err },
		func() (err error) { n.ep, err = n.domain.OpenEndpoint(info); return },
		func() error { return n.ep.BindCQ(n.cq, core.BindTransmit|core.BindRecv) },
		func() error { return n.ep.BindAV(n.av, 0) },
		func() (err error) {
			n.mr, err = n.domain.RegMR(&core.MRAttr{IOV: [][]byte{n.mem}, RequestedKey: key, Access: core.Read | core.Write | core.RemoteRead | core.RemoteWrite})
			return
		},
		func() error { return n.ep.Enable() },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	for i, fi := range fis {
		if int(fi) != i {
			return fmt.Errorf("address %d has index %d", i, fi)
		}
	}
	n.base = n.mr.Base()
	if n.base != 0 || n.mr.Key() != key {
		return fmt.Errorf("the region is at %#x with key %d", n.base, n.mr.Key())
	}
	for range 2 * len(n.Ports) {
		n.receive(make([]byte, msgMax))
	}
	return nil
}

func (n *node) close() error {
	return errors.Join(n.ep.Close(), n.mr.Close(), n.av.Close(), n.cq.Close(), n.domain.Close(), n.fabric.Close())
}

// fail notes what is wrong; the node goes on, for others may have more to tell.
func (n *node) fail(format string, args ...any) {
	if len(n.failures) < 20 {
		n.failures = append(n.failures, fmt.Sprintf("node %d life %d: ", n.Me, n.Life)+fmt.Sprintf(format, args...))
	}
}

// run is the life of a node.
func (n *node) run(commands <-chan string) {
	var owed func() // the answer to a command that takes time
	asked, looked := time.Now(), time.Now()
	for idle := false; ; {
		idle = n.read(idle)
		now := time.Now()
		if !n.draining {
			n.post(now)
		}
		if now.Sub(looked) > 200*time.Millisecond {
			looked = now
			n.look(now)
		}
		if owed != nil && (n.under() == 0 || now.Sub(asked) > bound+2*time.Second) {
			owed()
			owed = nil
		}
		select {
		case c, ok := <-commands:
			switch {
			case !ok || c == "quit":
				return
			case c == "status":
				n.tell(false)
			case c == "drain":
				n.draining, asked = true, now
				owed = func() { n.tell(true) }
			case c == "resume":
				n.draining = false
				n.tell(false)
			}
		default:
		}
	}
}

// under is how many operations are under way, but for receives.
func (n *node) under() int { return len(n.ops) - 2*len(n.Ports) }

// look looks for operations that take too long.
func (n *node) look(now time.Time) {
	for ctx, o := range n.ops {
		if took := now.Sub(o.posted); o.kind != opRecv && took > bound && !o.told {
			o.told = true
			n.fail("%v %d to node %d has no completion after %v (context %d)", o.kind, o.seq, o.to.index, took, ctx)
		}
	}
}

// tell answers a command; exact after the garbage was collected.
func (n *node) tell(exact bool) {
	r := report{Me: n.Me, Life: n.Life, Under: n.under(), Ops: n.ended, Goroutines: runtime.NumGoroutine(), Failures: n.failures}
	for _, p := range n.peers {
		r.Peers = append(r.Peers, p.peerReport)
	}
	if exact {
		for range 3 {
			runtime.GC()
		}
		for i := range n.peers {
			r.Slots = append(r.Slots, binary.NativeEndian.Uint64(n.mem[8*i:]))
		}
		if d, err := os.ReadDir("/proc/self/fd"); err == nil {
			r.FDs = len(d)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.Heap = m.HeapInuse
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.TrimSpace(string(b)))
}
