package neigh

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"gofabric/internal/mono"
)

const (
	questionsMax = 1024 // more questions are asked again with the next datagram
	wakesMax     = 1024 // likewise
	// entriesMax bounds the next hops by source address and MTU. The kernel has 1024 neighbours by default
	// (gc_thresh3).
	entriesMax = 1 << 14
	sweepEvery = 5 * time.Second
	sweepsMax  = 24 // an entry is forgotten after so many sweeps without use
	requestMax = time.Second
	bumpMax    = time.Second // longest delay of a change of routes by the answers about the previous one
	bumpShare  = 10          // largest part of the time that answers take while routes change all the time
)

// groups are the kernel's messages that the table receives. If a nexthop object changes and
// net.ipv4.nexthop_compat_mode is 0, the kernel does not report its routes.
var groups = []uint{
	unix.RTNLGRP_LINK, unix.RTNLGRP_NEIGH, unix.RTNLGRP_NEXTHOP,
	unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV4_RULE,
	unix.RTNLGRP_IPV6_IFADDR, unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_IPV6_RULE,
}

// Table follows the routes and neighbours of a network namespace. Its methods may be called by several goroutines.
type Table struct {
	gen       atomic.Uint64 // of routes, rules and addresses; never 0
	questions chan question
	wakes     chan *entry
	events    chan []event
	done      chan struct{}
	idle      sync.WaitGroup // of the table's goroutines
	answers   answers

	mu      sync.Mutex
	waiters chan struct{} // closed at the next change; nil if no caller waits
	follows map[*follower]struct{}
	watches map[*watcher]struct{}
	finders map[*func()]struct{}

	// The table's goroutine owns these fields.
	h        *netlink.Handle
	sockets  map[int]*nl.SocketHandle // for requests that the library does not have
	sub      *nl.NetlinkSocket
	links    map[int]*device
	locals   map[netip.Addr]struct{} // the host's addresses; nil: not known
	localsNo uint64                  // number of that set
	hops     map[hopKey]*hop
	entries  map[entryKey]*entry
	refused  map[error]*entry // for destinations without a path: one for each reason
	next     mono.Time        // the earliest deadline of a hop
	sweep    mono.Time
	bumped   mono.Time     // time of the last recorded change of routes
	spent    time.Duration // time spent on answers since then
	bump     mono.Time     // when to record the next change; None: there is none
	found    bool          // a path was found that is not reported yet
	lost     bool          // the kernel's messages have ended
	denied   bool          // the table may not ask for neighbours (CAP_NET_ADMIN)

	ns   nsID
	refs int // guarded by tables.mu
}

// nsID identifies a network namespace (namespaces(7)).
type nsID struct{ dev, ino uint64 }

// threadSpace is the network namespace of the calling thread.
const threadSpace = "/proc/thread-self/ns/net"

// tables has the table of each namespace.
var tables struct {
	mu sync.Mutex
	at map[nsID]*Table
}

// Open returns the table of the network namespace of the calling thread. Close it when it is no longer used.
func Open() (*Table, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var st unix.Stat_t
	if err := unix.Stat(threadSpace, &st); err != nil {
		return nil, fmt.Errorf("neigh: the network namespace: %w; is /proc mounted?", &os.PathError{Op: "stat", Path: threadSpace, Err: err})
	}
	id := nsID{st.Dev, st.Ino}
	tables.mu.Lock()
	defer tables.mu.Unlock()
	if t := tables.at[id]; t != nil {
		t.refs++
		return t, nil
	}
	t, err := open()
	if err != nil {
		return nil, fmt.Errorf("neigh: netlink: %w", err)
	}
	t.ns, t.refs = id, 1
	if tables.at == nil {
		tables.at = map[nsID]*Table{}
	}
	tables.at[id] = t
	return t, nil
}

// open makes a table for the namespace of the calling thread.
func open() (*Table, error) {
	t := &Table{
		questions: make(chan question, questionsMax), wakes: make(chan *entry, wakesMax), events: make(chan []event, 16), done: make(chan struct{}),
		links: map[int]*device{}, hops: map[hopKey]*hop{}, entries: map[entryKey]*entry{}, refused: map[error]*entry{},
	}
	t.gen.Store(1)
	t.next, t.sweep = mono.Never, mono.Now().Add(sweepEvery)
	var err error
	// The subscription comes before all questions, so that no change is missed.
	if t.sub, err = nl.Subscribe(unix.NETLINK_ROUTE, groups...); err != nil {
		return nil, err
	}
	if t.h, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		t.sub.Close()
		return nil, err
	}
	s, err := nl.GetNetlinkSocketAt(-1, -1, unix.NETLINK_ROUTE)
	if err != nil {
		t.h.Close()
		t.sub.Close()
		return nil, err
	}
	t.sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: s}}
	limit := unix.NsecToTimeval(int64(requestMax))
	s.SetReceiveTimeout(&limit)
	s.SetSendTimeout(&limit)
	t.h.SetSocketTimeout(requestMax)
	t.idle.Add(2)
	go t.listen()
	go t.run()
	return t, nil
}

// Close ends the use of a table. The last Close ends the table and all its Paths.
func (t *Table) Close() error {
	tables.mu.Lock()
	t.refs--
	last := t.refs == 0
	if last {
		delete(tables.at, t.ns)
	}
	tables.mu.Unlock()
	if !last {
		return nil
	}
	close(t.done)
	t.sub.Close()
	t.idle.Wait()
	t.tell()
	return nil
}

func (t *Table) closed() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// changed returns a channel that is closed at the next change.
func (t *Table) changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiters == nil {
		t.waiters = make(chan struct{})
	}
	return t.waiters
}

// tell wakes the callers that wait for a change.
func (t *Table) tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiters != nil {
		close(t.waiters)
		t.waiters = nil
	}
}

// wake records that an entry is used again. The data path calls it.
func (t *Table) wake(e *entry) {
	if !e.idle.CompareAndSwap(true, false) {
		return
	}
	select {
	case t.wakes <- e:
	default: // the next sweep finds it
	}
}

// run is the table's goroutine.
func (t *Table) run() {
	defer t.idle.Done()
	defer t.end()
	timer := time.NewTimer(sweepEvery)
	defer timer.Stop()
	for {
		select {
		case <-t.done:
			return
		case q := <-t.questions:
			t.answer(q)
		case e := <-t.wakes:
			t.used(e)
		case batch := <-t.events:
			t.follow(batch)
		case <-timer.C:
			t.pass(mono.Now())
		}
		t.tell()
		t.reportPaths()
		timer.Reset(max(0, t.wait(mono.Now())))
	}
}

// wait returns the time until there is something to do.
func (t *Table) wait(now mono.Time) time.Duration {
	until := min(t.next, t.sweep)
	if t.bump != mono.None {
		until = min(until, t.bump)
	}
	return until.Sub(now)
}

// routesChanged makes all Dests ask again at their next use. It does so at once, unless routes change so often that
// answers would take all the time.
func (t *Table) routesChanged(now mono.Time) {
	if at := t.bumped.Add(min(t.spent*bumpShare, bumpMax)); t.bumped != mono.None && now.Before(at) {
		t.bump = at
		return
	}
	t.gen.Add(1)
	t.bumped, t.spent, t.bump = now, 0, mono.None
}

// end removes all Paths.
func (t *Table) end() {
	for _, e := range t.entries {
		e.fail(ErrClosed)
		e.dead.Store(true)
	}
	for _, s := range t.sockets {
		s.Close()
	}
	t.h.Close()
}

// prepare asks for the information that the first questions of a view need. If that fails, those questions ask again.
func (t *Table) prepare(v *View) {
	if t.lost {
		return
	}
	t.findLocals()
	if v.iface != 0 {
		stackOf(v.iface, t.device)
	}
}

// answer points a Dest to its entry.
func (t *Table) answer(q question) {
	switch {
	case q.v == nil:
		t.reportAddresses()
		return
	case q.d == nil:
		t.prepare(q.v)
		return
	}
	began := mono.Now()
	defer func() { t.spent += mono.Now().Sub(began) }()
	gen := t.gen.Load()
	e, err := t.lookup(q)
	if err != nil {
		if e = t.refused[err]; e == nil {
			e = &entry{}
			e.fail(err)
			t.refused[err] = e
		}
		if passing(err) {
			gen = 0
		}
	} else {
		t.answers.remember(q, answer{e, gen})
	}
	q.d.gen.Store(0) // a reader that sees the generation also sees the entry
	q.d.entry.Store(e)
	q.d.gen.Store(gen)
	q.d.asked.Store(false)
	t.found = t.found || e.path.Load() != nil
}
