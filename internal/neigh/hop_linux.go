package neigh

import (
	"cmp"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"gofabric/internal/mono"
	"gofabric/internal/xdp/frame"
)

const (
	// answerMax is the time after which a next hop counts as unreachable. The kernel gives up earlier and reports
	// that.
	answerMax = resolveMax - time.Second
	againMin  = time.Second // pause before asking again for a next hop that did not answer
	againMax  = 30 * time.Second
)

// nudValid are the states in which the kernel sends to a neighbour (NUD_VALID).
const nudValid = netlink.NUD_PERMANENT | netlink.NUD_NOARP | netlink.NUD_REACHABLE | netlink.NUD_PROBE | netlink.NUD_STALE | netlink.NUD_DELAY

// hopKey identifies a neighbour.
type hopKey struct {
	link int // index of the device
	addr netip.Addr
}

// hop is a neighbour. It belongs to the table's goroutine.
type hop struct {
	key     hopKey
	nud     int // the kernel's state (NUD_*), 0 for none
	mac     frame.MAC
	entries []*entry
	err     error         // why the neighbour is not valid
	due     mono.Time     // when to give up or to ask again; none: never
	again   time.Duration // pause before the next question
}

// entryKey identifies an entry. For groups and broadcasts hop is not a neighbour.
type entryKey struct {
	hop  hopKey
	src  netip.Addr
	mtu  int // of the route; 0: the device's
	cast frame.Cast
}

// entry is what all destinations behind a next hop share. The data path reads it.
type entry struct {
	path atomic.Pointer[Path]
	why  atomic.Pointer[error] // why there is no path
	idle atomic.Bool           // not used since the last sweep
	dead atomic.Bool           // forgotten by the table

	// The table's goroutine owns these fields.
	key    entryKey
	hop    *hop // nil for groups
	sweeps int  // since the last use
}

// fail removes the path.
func (e *entry) fail(err error) {
	e.why.Store(&err)
	e.path.Store(nil)
}

// reason returns why there is no path.
func (e *entry) reason() error {
	if err := e.why.Load(); err != nil && e.path.Load() == nil {
		return *err
	}
	return ErrResolving
}

// entry finds or makes an entry.
func (t *Table) entry(key entryKey) (*entry, error) {
	if e := t.entries[key]; e != nil {
		return e, nil
	}
	if len(t.entries) >= entriesMax && !t.makeRoom() {
		return nil, ErrMany
	}
	e := &entry{key: key}
	t.entries[key] = e
	if key.cast != frame.Unicast {
		t.renew(e)
		return e, nil
	}
	h := t.hops[key.hop]
	if h == nil {
		h = &hop{key: key.hop, err: ErrResolving, again: againMin}
		t.hops[key.hop] = h
		h.nud, h.mac = t.askNeighbour(key.hop)
	}
	e.hop = h
	h.entries = append(h.entries, e)
	t.attend(h, true)
	return e, nil
}

// makeRoom forgets an entry that is not in use.
func (t *Table) makeRoom() bool {
	var oldest *entry
	for _, e := range t.entries {
		if e.sweeps > 0 && e.idle.Load() && (oldest == nil || e.sweeps > oldest.sweeps) {
			oldest = e
		}
	}
	if oldest != nil {
		t.forget(oldest)
	}
	return oldest != nil
}

// forget drops an entry. The Dests that point to it ask again.
func (t *Table) forget(e *entry) {
	delete(t.entries, e.key)
	e.dead.Store(true)
	e.fail(ErrResolving)
	if h := e.hop; h != nil {
		for i, x := range h.entries {
			if x == e {
				h.entries = append(h.entries[:i], h.entries[i+1:]...)
				break
			}
		}
		if len(h.entries) == 0 {
			delete(t.hops, h.key)
		}
	}
}

// askNeighbour asks the kernel for its state of a neighbour (RTM_GETNEIGH).
func (t *Table) askNeighbour(k hopKey) (nud int, mac frame.MAC) {
	family := unix.AF_INET6
	if k.addr.Is4() {
		family = unix.AF_INET
	}
	req := nl.NewNetlinkRequest(unix.RTM_GETNEIGH, 0)
	req.Sockets = t.sockets
	req.AddData(&netlink.Ndmsg{Family: uint8(family), Index: uint32(k.link)})
	req.AddData(nl.NewRtAttr(netlink.NDA_DST, k.addr.AsSlice()))
	list, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWNEIGH)
	if err != nil || len(list) == 0 {
		return 0, mac // ENOENT: the kernel does not know it
	}
	_, nud, mac, _ = neighbour(list[0])
	return nud, mac
}

// neighbour parses a message about a neighbour. ok is false for those of bridges and proxies.
func neighbour(b []byte) (k hopKey, nud int, mac frame.MAC, ok bool) {
	n, err := netlink.NeighDeserialize(b)
	if err != nil || n.Family != unix.AF_INET && n.Family != unix.AF_INET6 || n.Flags&netlink.NTF_PROXY != 0 {
		return k, 0, mac, false
	}
	a, ok := netip.AddrFromSlice(n.IP)
	if !ok {
		return k, 0, mac, false
	}
	if n.Family == unix.AF_INET {
		a = a.Unmap()
	}
	nud = n.State
	if len(n.HardwareAddr) == len(mac) {
		mac = frame.MAC(n.HardwareAddr)
	} else {
		nud &^= nudValid // it has no Ethernet address
	}
	return hopKey{n.LinkIndex, a}, nud, mac, true
}

// attend takes the action that the state of a neighbour needs, and renews the paths through it. used means that a
// caller sends to it.
func (t *Table) attend(h *hop, used bool) {
	_, down := stackOf(h.key.link, t.device)
	switch {
	case h.nud&nudValid != 0:
		h.err, h.due, h.again = nil, mono.None, againMin
		// Permanent ones are not changed: NTF_USE would remove that state (__neigh_update clears NUD_PERMANENT).
		if h.nud&netlink.NUD_STALE != 0 && used && down == nil {
			if !t.denied {
				t.renewAll(h) // now, because the kernel's answer may take long
			}
			if t.denied = t.probe(h) == unix.EPERM; t.denied {
				h.err = ErrStale
			}
		}
	case down != nil:
		h.err, h.due = ErrResolving, mono.None // renewed when the interface is up
	case h.due == mono.None:
		h.err = ErrResolving
		if used {
			t.solicit(h)
		}
	}
	t.renewAll(h)
}

// renewAll updates the paths through a neighbour.
func (t *Table) renewAll(h *hop) {
	for _, e := range h.entries {
		t.renew(e)
	}
}

// used reports whether a caller sends to the neighbour.
func (h *hop) used() bool {
	for _, e := range h.entries {
		if !e.idle.Load() {
			return true
		}
	}
	return false
}

// solicit makes the kernel resolve a neighbour that it does not know.
func (t *Table) solicit(h *hop) {
	if err := t.probe(h); err != nil {
		t.unanswered(h, err)
		return
	}
	h.due = mono.Now().Add(answerMax)
	t.next = min(t.next, h.due)
}

// unanswered records that a neighbour is not reachable, and when to ask again.
func (t *Table) unanswered(h *hop, err error) {
	h.err, h.due = err, mono.Now().Add(h.again)
	h.again = min(2*h.again, againMax)
	t.next = min(t.next, h.due)
}

// probe asks for a neighbour as a packet would. The kernel begins to resolve an unknown neighbour, and to probe a
// stale one (neigh_add and neigh_event_send in net/core/neighbour.c). The answer comes as an event.
func (t *Table) probe(h *hop) error {
	family := unix.AF_INET6
	if h.key.addr.Is4() {
		family = unix.AF_INET
	}
	return errnoOf(t.h.NeighSet(&netlink.Neigh{LinkIndex: h.key.link, Family: family, Flags: netlink.NTF_USE, IP: net.IP(h.key.addr.AsSlice())}))
}

// renew sets the path of an entry from the states of link and neighbour.
func (t *Table) renew(e *entry) {
	s, err := stackOf(e.key.hop.link, t.device)
	if e.hop != nil {
		err = cmp.Or(err, e.hop.err)
	}
	if err != nil {
		e.fail(err)
		return
	}
	p := Path{
		Link: s.link, Device: e.key.hop.link, Tags: s.tags, SrcMAC: s.mac, Src: e.key.src, NextHop: e.key.hop.addr, Cast: e.key.cast, MTU: s.mtu,
	}
	if e.key.mtu > 0 {
		p.MTU = min(p.MTU, e.key.mtu)
	}
	switch e.key.cast {
	case frame.Unicast:
		p.DstMAC = e.hop.mac
	case frame.Multicast:
		p.DstMAC = groupMAC(p.NextHop)
	case frame.Broadcast:
		p.DstMAC = broadcastMAC
	}
	if old := e.path.Load(); old == nil || *old != p {
		e.path.Store(&p)
		t.found = true
	}
}
