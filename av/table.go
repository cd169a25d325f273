package av

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"

	"gofabric/core"
)

// This file has the address vector (fi_av(3)).

// Resolver returns the addresses of a node and service, as core.Host does.
type Resolver func(node, service string) ([]netip.AddrPort, error)

const (
	chunkBits = 9 // an entry chunk fills one of the allocator's size classes
	chunkLen  = 1 << chunkBits
	maxPeers  = math.MaxUint32 - 1

	maxRxCtxBits = 8
)

// Table is an address vector (FI_AV_TABLE; FI_AV_MAP behaves the same). It implements core.AVDriver. Any goroutine
// may call its methods.
type Table struct {
	attr    core.AVAttr
	format  core.AddrFormat
	resolve Resolver
	refs    atomic.Int32
	ids     userIDs
	back    background
	keys    authKeys
	shared  *shared // nil: a vector of this process alone
	limit   uint32  // largest number of addresses

	change   sync.Mutex // held during an insertion or removal and the calls that it causes; locked before the domains' locks
	onInsert subscribers[func(core.FIAddr, core.Addr)]
	onRemove subscribers[func(core.FIAddr)]

	vacated atomic.Uint64 // counts freed indices; changed with mu held

	mu     sync.RWMutex // guards the rest; locked after the domains' locks
	chunks []*[chunkLen]entry
	next   uint32 // number of indices that were ever used
	free   freeSet
	index  index
	zones  zones
	closed bool
}

// New opens an address vector (fi_av_open(3)) for addresses of one format. FormatUnspec, FormatSockaddr,
// FormatSockaddrIP and FormatStr take IPv4 and IPv6. InsertSvc and InsertSym use resolve; if it is nil, they take
// numeric addresses only. NewShared opens vectors with a name.
func New(attr core.AVAttr, format core.AddrFormat, resolve Resolver) (*Table, error) {
	switch {
	case attr.Name != "":
		return nil, opError("fi_av_open", core.ErrNoSys, "this kind of address vector cannot be shared")
	case attr.Flags&core.AVRead != 0:
		return nil, opError("fi_av_open", core.ErrInval, "AVRead needs the name of a shared address vector")
	}
	return makeTable(attr, maxPeers, format, resolve)
}

func makeTable(attr core.AVAttr, limit uint32, format core.AddrFormat, resolve Resolver) (*Table, error) {
	switch {
	case attr.Type > core.AVTable:
		return nil, opError("fi_av_open", core.ErrInval, "types are AVMap and AVTable")
	case attr.Flags&^(core.AVEvent|core.AVRead|core.AVSymmetric|core.AVUserID|core.AVPeer) != 0:
		return nil, opError("fi_av_open", core.ErrInval, "flags are AVEvent, AVRead, AVSymmetric and AVUserID")
	case attr.RxCtxBits < 0 || attr.RxCtxBits > maxRxCtxBits:
		return nil, opError("fi_av_open", core.ErrInval, "RXCtxBits is at most 8")
	case attr.Count < 0:
		return nil, opError("fi_av_open", core.ErrInval, "the count is negative")
	}
	switch format {
	case core.FormatUnspec, core.FormatSockaddr, core.FormatSockaddrIP, core.FormatSockaddrIn, core.FormatSockaddrIn6, core.FormatStr:
	default:
		return nil, opError("fi_av_open", core.ErrInval, "the address format must be an IP one")
	}
	if attr.Type == core.AVUnspec {
		attr.Type = core.AVTable
	}
	t := &Table{attr: attr, format: format, resolve: resolve, limit: limit}
	t.ids.none = attr.Flags&core.AVUserID != 0
	t.index.init(min(attr.Count, 1<<20), rand.Uint64(), rand.Uint64())
	return t, nil
}

// Attr returns the attributes that the vector was opened with.
func (t *Table) Attr() core.AVAttr { return t.attr }

// RxCtxBits returns the number of upper bits of an index that select a receive context of the peer (core.RxAddr).
func (t *Table) RxCtxBits() int { return t.attr.RxCtxBits }

// Len returns the number of addresses.
func (t *Table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.index.n
}

// at returns an entry below next. t.mu is held.
func (t *Table) at(i uint32) *entry { return &t.chunks[i>>chunkBits][i&(chunkLen-1)] }

// get returns the entry of an index that is in use, else nil. t.mu is held.
func (t *Table) get(fi core.FIAddr) *entry {
	if fi >= core.FIAddr(t.next) {
		return nil
	}
	if e := t.at(uint32(fi)); e.uses > 0 {
		return e
	}
	return nil
}

// Lookup returns the address of an index (fi_av_lookup(3)). The error is ErrInval if the index is not in use.
func (t *Table) Lookup(fi core.FIAddr) (core.Addr, error) {
	t.follow(lookWait) // another process may have changed the address
	ap, ok := t.AddrPort(fi << t.attr.RxCtxBits >> t.attr.RxCtxBits)
	if !ok {
		return core.Addr{}, core.ErrInval
	}
	f := core.FormatSockaddrIn6
	if ap.Addr().Is4() {
		f = core.FormatSockaddrIn
	}
	return core.Addr{Format: f, IP: ap}, nil
}

// AddrPort is Lookup for providers. If an index is unknown, another process may have inserted it.
func (t *Table) AddrPort(fi core.FIAddr) (ap netip.AddrPort, ok bool) {
	if ap, ok = t.known(fi); !ok && t.shared != nil {
		t.follow(lookWait)
		if ap, ok = t.known(fi); !ok {
			ap, ok = t.address(fi)
		}
	}
	return ap, ok
}

func (t *Table) known(fi core.FIAddr) (ap netip.AddrPort, ok bool) {
	t.mu.RLock()
	if e := t.get(fi); e != nil {
		ap, ok = e.addrPort(&t.zones), true
	}
	t.mu.RUnlock()
	return ap, ok
}

// Lasting reports whether the result of AddrPort for an index in use is valid until Vacated changes. In a shared
// vector it is not.
func (t *Table) Lasting() bool { return t.shared == nil }

// Vacated returns the number of indices that were freed.
func (t *Table) Vacated() uint64 { return t.vacated.Load() }

// Reverse returns the index of an address, AddrNotAvail if it was not inserted.
func (t *Table) Reverse(a core.Addr) core.FIAddr { return t.ReverseAddrPort(a.IP) }

// ReverseAddrPort is Reverse for providers, which call it for each received packet. An IPv4 address equals the same
// address mapped into IPv6.
func (t *Table) ReverseAddrPort(ap netip.AddrPort) core.FIAddr {
	fi := t.reverse(ap)
	if fi == core.AddrNotAvail && t.shared != nil {
		t.follow(lookWait)
		fi = t.reverse(ap)
	}
	return fi
}

func (t *Table) reverse(ap netip.AddrPort) core.FIAddr {
	t.mu.RLock()
	fi := core.AddrNotAvail
	if k, ok := t.keyOf(ap); ok {
		if i, found := t.index.find(t, k); found {
			fi = core.FIAddr(i)
		}
	}
	t.mu.RUnlock()
	return fi
}

// Ref counts an endpoint that is bound to the vector. Unref ends it.
func (t *Table) Ref()   { t.refs.Add(1) }
func (t *Table) Unref() { t.refs.Add(-1) }

// refOpen is Ref unless the vector is closed.
func (t *Table) refOpen() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.Ref()
	}
	return !t.closed
}

// Close frees the vector (fi_close(3)). The error is ErrBusy while endpoints are bound to it, sets of it are open
// or insertions are under way.
func (t *Table) Close() error {
	if err := t.end(); err != nil {
		return err
	}
	if t.shared != nil {
		t.shared.close()
	}
	return nil
}

func (t *Table) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return core.ErrBadF
	case t.refs.Load() > 0:
		return opError("fi_close(av)", core.ErrBusy, "endpoints or sets use the address vector: close them first")
	case t.back.underWay():
		return opError("fi_close(av)", core.ErrBusy, "insertions are in progress: wait for their events first")
	}
	t.closed, t.chunks, t.next = true, nil, 0
	t.free, t.zones = freeSet{}, zones{}
	t.index.init(0, 0, 0)
	return nil
}

func opError(op string, err error, hint string) error {
	return &core.OpError{Op: op, Err: err, Hint: hint}
}
