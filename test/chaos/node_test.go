package chaos

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"gofabric"
	"gofabric/core"
)

// A node is an endpoint that exchanges all kinds of operations with all other nodes, and the memory that they access.
// Its life ends when it is closed. A process may then open the next one.

const (
	caps = core.CapMsg | core.CapTagged | core.CapRMA | core.CapAtomic
	key  = 77
	// bound is how long an operation may take. The stacks give up a silent peer after silence.
	bound = 12 * time.Second
	// closeBound is how long closing an endpoint may take. It lingers for up to ten seconds and then tells its peers.
	closeBound = 13 * time.Second
	// pauseMax and sorryMax are how long a node waits at most before the next operations of a lane: after some that
	// succeeded, and after one that failed.
	pauseMax = 900 * time.Millisecond
	sorryMax = 150 * time.Millisecond
	// lateMax is how late a reader is, at most.
	lateMax = time.Second
	// posted is how many receives of each kind are posted.
	posted = 6
)

// setup is the configuration of a process, which it gets in its environment.
type setup struct {
	Prov   string
	Msg    bool
	Me     uint8
	Life   uint16
	Nodes  []string // address and port of each node
	Server string
	Dir    string // the folder of journals
	Epoch  int64  // start of the fleet, microseconds
	Seed   uint64
	Most   int           // length of the longest message
	Bound  time.Duration // time limit of an operation
	Order  string
}

func (s *setup) epoch() time.Time { return time.UnixMicro(s.Epoch) }

// parse reads a setup.
func parse(text string) (s setup) {
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic(err)
	}
	return s
}

type node struct {
	setup
	rng     *rand.Rand
	journal *journal
	bin     bin

	fabric   *core.Fabric
	domain   *core.Domain
	cq       *core.CompletionQueue
	av       *core.AddressVector // with RDM endpoints
	ep       *core.Endpoint      // with RDM endpoints
	rx       core.Receiver       // where receives are posted
	inject   int
	eq       *core.EventQueue // with connected endpoints, like the fields that follow
	pep      *core.PassiveEndpoint
	srx      *core.SharedRx
	conns    map[core.Object]*conn
	dialInfo *core.Info
	mr       *core.MemoryRegion
	mem      []byte
	commit   bool // writes can ask for commit complete

	peers []*peer
	ops   map[core.OpContext]*op
	// gone has operations that ended with their endpoint. The queue may have held a completion of one already.
	gone     map[core.OpContext]bool
	held     []*op // receives that are not posted for a while
	last     core.OpContext
	draining bool
	seen     time.Time     // the last turn
	stalled  time.Duration // total time in which the process did not run
	idled    int           // how often it has found nothing to receive, with all receives posted
	deaf     time.Time     // the node does not read its queue until then
	idle     time.Time     // the node posts no receives until then
	moody    time.Time     // moods may set deaf or idle from then on
}

// say prints a line for the fleet. A fault begins with FAIL and the name of a count.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (n *node) fail(c count, format string, args ...any) {
	say("FAIL %s node %d life %d: %s", countNames[c], n.Me, n.Life,
		strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " / "))
}

// nodeMain is the program of a process with nodes, one after the other. It ends with its standard input.
func nodeMain(text string) {
	s := parse(text)
	commands := make(chan string)
	go func() {
		defer close(commands)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			commands <- in.Text()
		}
	}()
	for {
		for poor.Load() > 0 {
			time.Sleep(10 * time.Millisecond) // exhaust gives the descriptors back after a time of its own
		}
		before := takeStock()
		n := &node{setup: s, rng: rand.New(rand.NewPCG(s.Seed, uint64(s.Me)<<32|uint64(s.Life))),
			ops: map[core.OpContext]*op{}, gone: map[core.OpContext]bool{}, conns: map[core.Object]*conn{}}
		if err := n.open(); err != nil {
			fmt.Fprintf(os.Stderr, "node %d life %d: open: %v\n", s.Me, s.Life, err)
			os.Exit(2)
		}
		say("READY %d", s.Life)
		order := n.run(commands)
		if order == "exit" {
			os.Exit(0)
		}
		n.lastWords()
		n.close()
		n.journal.f.Close()
		if more := before.settle(); more != "" {
			n.fail(leaked, "after everything was closed, more is in use than before: %s", more)
		}
		say("CLOSED %d", s.Life)
		if order != "reopen" {
			// Buffers that peers may still read have been overwritten.
			time.Sleep(time.Duration(n.rng.Int64N(int64(300 * time.Millisecond))))
			os.Exit(0)
		}
		s.Life++
		<-commands // "open": the fleet knows of the next life
	}
}

// slotsAt is where the slots begin, in bytes. Sums lie before them.
const slotsAt = 4096

// slotAt returns where a node writes in a life. Writes of its previous life may arrive late.
func (n *node) slotAt(who int, life uint16) int {
	return slotsAt + (2*who+int(life%2))*n.Most
}

func sumAt(who int, life uint16) int { return 8 * (2*who + int(life%2)) }

// open opens all objects.
func (n *node) open() (err error) {
	if n.journal, err = newJournal(n.Dir, n.Me, n.Life, n.epoch()); err != nil {
		return err
	}
	info, err := n.info()
	if err != nil {
		return err
	}
	n.inject = info.Tx.InjectSize
	for i := range n.Nodes {
		n.peers = append(n.peers, &peer{index: i})
	}
	if n.fabric, err = gofabric.OpenFabric(info); err != nil {
		return err
	}
	if n.domain, err = n.fabric.OpenDomain(info); err != nil {
		return err
	}
	if n.cq, err = n.domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged, WaitObj: core.WaitUnspec}); err != nil {
		return err
	}
	if n.Msg {
		err = n.listen(info)
	} else {
		err = n.openRDM(info)
	}
	if err != nil {
		return err
	}
	if err := n.register(info); err != nil {
		return err
	}
	for range posted {
		n.receive(&op{kind: opRecv})
		n.receive(&op{kind: opTRecv})
	}
	n.seen = time.Now()
	return nil
}

// info returns the Info of the stack.
func (n *node) info() (*core.Info, error) {
	h := core.NewHints()
	h.Caps, h.Fabric.ProvName, h.EP.Type = caps|core.CapSource, n.Prov, core.EPTypeRDM
	if n.Msg {
		h.Caps, h.EP.Type, h.EP.RxCtxCnt = caps, core.EPTypeMsg, core.SharedContext
	}
	if n.Life%3 != 0 { // the other lives have manual progress
		h.Domain.DataProgress = core.ProgressAuto
	}
	host, port, err := net.SplitHostPort(n.Nodes[n.Me])
	if err != nil {
		return nil, err
	}
	q := core.Query{Node: host, Service: port, Flags: core.InfoSource, Hints: h}
	h.Caps |= core.CapRMAPMem
	infos, _, err := gofabric.GetInfo(q)
	if n.commit = err == nil; err != nil {
		h.Caps &^= core.CapRMAPMem
		infos, _, err = gofabric.GetInfo(q)
	}
	if err != nil {
		return nil, err
	}
	return infos[0], nil
}

func (n *node) openRDM(info *core.Info) error {
	var addrs []core.Addr
	for _, node := range n.Nodes {
		a, err := core.ParseAddr("fi_sockaddr_in://" + node)
		if err != nil {
			return err
		}
		addrs = append(addrs, a)
	}
	var err error
	if n.av, err = n.domain.OpenAV(core.AVAttr{}); err != nil {
		return err
	}
	fis := make([]core.FIAddr, len(addrs))
	if _, err := n.av.Insert(addrs, fis, 0); err != nil {
		return err
	}
	if n.ep, err = n.domain.OpenEndpoint(info); err != nil {
		return err
	}
	n.rx = n.ep
	return errors.Join(n.ep.BindCQ(n.cq, core.BindTransmit|core.BindRecv), n.ep.BindAV(n.av, 0), n.ep.Enable())
}

// register registers memory for the peers: a sum for each life of each peer, and a slot that each writes to.
func (n *node) register(info *core.Info) error {
	f, err := os.OpenFile(filepath.Join(n.Dir, fmt.Sprintf("memory.%d.%d", n.Me, n.Life)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	defer os.Remove(f.Name())
	size := n.slotAt(len(n.Nodes), 0)
	if err := f.Truncate(int64(size)); err != nil {
		return err
	}
	if n.mem, err = unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	for i := range 2 * len(n.Nodes) {
		binary.NativeEndian.PutUint64(n.mem[8*i:], uint64(n.Life)<<32)
	}
	attr := core.MRAttr{IOV: [][]byte{n.mem}, RequestedKey: key,
		Access: core.AccessRead | core.AccessWrite | core.AccessRemoteRead | core.AccessRemoteWrite}
	if n.commit {
		attr.Flags = core.MRRMAPMem
	}
	if n.mr, err = n.domain.RegMR(&attr); err != nil {
		return err
	}
	if n.mr.Base() != 0 || n.mr.Key() != key {
		return fmt.Errorf("the region is at %#x with key %d, which peers do not expect", n.mr.Base(), n.mr.Key())
	}
	return nil
}

// run runs a life of the node. It returns the command that ends it.
func (n *node) run(commands <-chan string) (order string) {
	looked := time.Now()
	var asked time.Time // since when a status is due, once all operations have ended
	n.moody = looked.Add(n.pause(5 * time.Second))
	for none := false; ; {
		now := time.Now()
		if gap := now.Sub(n.seen); gap > 300*time.Millisecond {
			n.stalled += gap
		}
		n.seen = now
		n.moods(now)
		if now.Before(n.deaf) {
			time.Sleep(5 * time.Millisecond) // an application that makes no calls for a while is what is tested
			n.seen = time.Now()
		} else {
			if none = n.read(none); none && len(n.held) == 0 {
				n.idled++
			}
		}
		if n.Msg {
			n.tend(now)
		}
		if !n.draining {
			n.post(now)
		}
		if now.Sub(looked) > 200*time.Millisecond {
			looked = now
			n.look(now)
		}
		if !asked.IsZero() && (n.under() == 0 || now.Sub(asked) > n.Bound+2*time.Second) {
			asked = time.Time{}
			n.tell()
		}
		select {
		case c, ok := <-commands:
			if !ok {
				return "quit"
			}
			if c == "drain" {
				n.draining, asked = true, now
			} else if n.obey(c) {
				return c
			}
		default:
		}
	}
}

// obey executes a command. It reports whether the command ends the node's life.
func (n *node) obey(c string) (over bool) {
	word, rest, _ := strings.Cut(c, " ")
	ms, _ := strconv.Atoi(rest)
	long := time.Duration(ms) * time.Millisecond
	switch word {
	case "resume":
		n.draining = false
	case "shutdown":
		n.shutdownOne()
	case "exhaust":
		exhaust(long)
	case "memory":
		limitMemory(long)
	default:
		return true
	}
	return false
}

// moods makes the node a late reader at times.
func (n *node) moods(now time.Time) {
	if len(n.held) > 0 && now.After(n.idle) {
		held := n.held
		n.held = nil
		for _, o := range held {
			n.receive(o)
		}
	}
	if now.Before(n.moody) {
		return
	}
	n.moody = now.Add(lateMax + n.pause(5*time.Second))
	if n.draining {
		return
	}
	switch n.rng.IntN(3) {
	case 0:
		n.deaf = now.Add(n.pause(lateMax))
	case 1:
		n.idle = now.Add(n.pause(lateMax))
	case 2:
		n.cancelSome()
	}
}

// under returns how many operations are pending, without receives.
func (n *node) under() (k int) {
	for _, o := range n.ops {
		if !o.kind.receives() {
			k++
		}
	}
	return k
}

// look finds operations that take too long.
func (n *node) look(now time.Time) {
	for _, o := range n.ops {
		if took := now.Sub(o.posted) - (n.stalled - o.stalled); !o.kind.receives() && took > n.Bound && !o.told {
			o.told = true
			n.fail(hung, "%v %v (%v) to node %d has no completion after %v", o.kind,
				o.letter, o.level, o.to.index, took)
		}
	}
	if n.journal.err != nil {
		n.fail(hung, "the journal: %v", n.journal.err)
		n.journal.err = nil
	}
}

// tell prints a report of the node.
func (n *node) tell() {
	r := report{Me: n.Me, Life: n.Life, Under: n.under(), Stock: takeStock()}
	for _, p := range n.peers {
		r.Peers = append(r.Peers, p.peerReport)
		for life := range uint16(2) {
			r.Sums = append(r.Sums, binary.NativeEndian.Uint64(n.mem[sumAt(p.index, life):]))
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	say("STATUS %s", b)
}

// report is what a node reports of itself.
type report struct {
	Me    uint8
	Life  uint16
	Peers []peerReport
	Sums  []uint64 // of atomics: two for each node that adds
	Under int      // pending operations
	Stock stock
}

type peerReport struct {
	OKs, Errs int
	AddedLife int // from the results of atomics
	Known     bool
	Next      uint64 // the least that the sum must be
	Unsure    uint64 // by how much the sum may exceed Next: additions that failed
	LastErr   string
}

// lastWords sends a few more messages to every node. Some follow a message that no socket takes at once, so that the
// close must transmit them.
func (n *node) lastWords() {
	n.seen = time.Now()
	for _, p := range n.peers {
		if ep, _ := n.via(p); ep == nil {
			continue
		}
		long := n.rng.IntN(3) == 0
		for i := range p.msgs {
			for long && i == 0 && (letter{owner: n.Me, life: n.Life, channel: 0, seq: p.seq[0] + 1}).size(n.Most) < 2<<20 {
				p.seq[0]++
			}
			for range 3 {
				n.send(p, i)
			}
		}
	}
	for range 2 { // reads only operations that completed at once; more reads would transmit everything
		n.read(false)
	}
}

// close closes all objects in good order. When the endpoint has been closed, the buffers of pending operations are
// overwritten.
func (n *node) close() {
	n.journal.note(noteClosing, letter{owner: n.Me, life: n.Life}.word(), 0, 0)
	kind := noteClosed
	closeOne := func(o core.Object) {
		began := time.Now()
		err := o.Close()
		took := time.Since(began)
		switch {
		case errors.Is(err, core.ErrTimedOut):
			kind = noteLate
			say("LATE %d", n.Life)
		case err != nil:
			n.fail(hung, "closing %T: %v", o, err)
		}
		if took > closeBound {
			n.fail(hung, "closing %T took %v", o, took)
		}
	}
	if n.Msg {
		for _, c := range n.conns {
			closeOne(c.ep)
			n.dropped(c)
		}
		closeOne(n.pep)
		closeOne(n.srx)
	} else {
		closeOne(n.ep)
	}
	n.dropped(nil)
	closeOne(n.mr)
	if err := unix.Munmap(n.mem); err != nil {
		n.fail(leaked, "munmap: %v", err)
	}
	if n.Msg {
		closeOne(n.eq)
	} else {
		closeOne(n.av)
	}
	for _, o := range []core.Object{n.cq, n.domain, n.fabric} {
		closeOne(o)
	}
	n.journal.note(kind, letter{owner: n.Me, life: n.Life}.word(), 0, 0)
}

// dropped overwrites the buffers of operations that ended without a completion because c was closed, or of all if c is
// nil.
func (n *node) dropped(c *conn) {
	for ctx, o := range n.ops {
		if c == nil && !o.kind.receives() || c != nil && o.via == c {
			scribble(o.buf, scribbleTx)
			scribble(o.result, scribbleRx)
		} else if c == nil {
			scribble(o.buf, scribbleRx)
		} else {
			continue
		}
		delete(n.ops, ctx)
		n.gone[ctx] = true
		if o.channel != nil {
			o.channel.open--
			n.journalFailed(o)
		}
	}
}

func (n *node) pause(most time.Duration) time.Duration {
	return time.Duration(n.rng.Int64N(int64(most)))
}
