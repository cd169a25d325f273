package strict

import (
	"slices"
	"sync"
	"sync/atomic"

	"gofabric/core"
)

// domain is an open domain: what is registered in it, and what is under way.
type domain struct {
	core.Domain
	f    *fabric
	o    *Overlay
	k    *Kind
	info *core.Info
	mode core.MRMode // what is demanded of registrations
	busy atomic.Int32

	mu      sync.Mutex
	ops     map[core.Context]*op // under way, by the contexts that the stack below knows
	seq     uint64
	inUse   map[core.Context]bool // contexts of the application's that are lent to the provider
	claims  map[claim]core.Context
	regions map[core.Desc]*region
	keys    map[uint64]*region // those that peers may access
	vectors map[*vector]bool
	eps     map[*state]bool
	cqs     int
	cntrs   int
}

func newDomain(f *fabric, below core.Domain, info *core.Info) *domain {
	k := f.o.profile.kind(info.EP.Type)
	if k == nil {
		k = &f.o.profile.Kinds[0]
	}
	d := &domain{Domain: below, f: f, o: f.o, k: k, info: info.Dup(), mode: info.Domain.MRMode, ops: map[core.Context]*op{}, inUse: map[core.Context]bool{},
		claims: map[claim]core.Context{}, regions: map[core.Desc]*region{}, keys: map[uint64]*region{}, vectors: map[*vector]bool{}, eps: map[*state]bool{}}
	if d.mode&core.MRModeBasic != 0 {
		d.mode |= k.MRMode & (basicMap | core.MRModeLocal)
	}
	return d
}

func (d *domain) inner() core.Object { return d.Domain }

// Fabric is the fabric that the domain was opened on.
func (d *domain) Fabric() core.Fabric { return d.f }

// BindEQ is fi_domain_bind(3).
func (d *domain) BindEQ(eq core.EventQueue, flags core.Flags) error {
	return d.Domain.BindEQ(peel(eq), flags)
}

// Close is fi_close(3).
func (d *domain) Close() error {
	err := d.Domain.Close()
	if err == nil {
		d.f.mu.Lock()
		delete(d.f.outer, d.Domain)
		delete(d.f.domains, d)
		d.f.mu.Unlock()
	}
	return err
}

// enter notes that a thread is in a call on the domain; leave ends it. With FI_THREAD_DOMAIN the application promised that there is one at a time.
func (d *domain) enter(op string) error {
	if d.busy.Add(1) > 1 && d.info.Domain.Threading == core.ThreadDomain {
		d.busy.Add(-1)
		return d.o.misuse(op, core.ErrOpBadState, "two threads call into one domain at the same time, which was opened with FI_THREAD_DOMAIN: "+
			"the provider takes no lock then, and its queues would be corrupted")
	}
	return nil
}

func (d *domain) leave() { d.busy.Add(-1) }

// room takes one of a limited number of objects.
func (d *domain) room(op, what string, n *int, limit int) error {
	d.mu.Lock()
	full := limit > 0 && *n >= limit
	if !full {
		*n++
	}
	d.mu.Unlock()
	if full {
		return d.o.misuse(op, core.ErrNoSpc, "%d %s are open, and the adapter has no more", limit, what)
	}
	return nil
}

func (d *domain) back(n *int) {
	d.mu.Lock()
	*n--
	d.mu.Unlock()
}

// release transmits what endpoints hold back.
func (d *domain) release() {
	d.mu.Lock()
	var list []*state
	for s := range d.eps {
		list = append(list, s)
	}
	d.mu.Unlock()
	for _, s := range list {
		s.release()
	}
}

// OpenCQ is fi_cq_open(3).
func (d *domain) OpenCQ(attr core.CQAttr) (core.CompletionQueue, error) {
	if d.k.WaitObjs != nil && !slices.Contains(d.k.WaitObjs, attr.WaitObj) {
		return nil, d.o.misuse("fi_cq_open", core.ErrNoSys, "the provider has no such wait object for completion queues: open them with FI_WAIT_NONE, FI_WAIT_UNSPEC or, for connected endpoints, FI_WAIT_FD")
	}
	if err := d.room("fi_cq_open", "completion queues", &d.cqs, d.k.CQCnt); err != nil {
		return nil, err
	}
	asked := attr.Format
	if asked <= core.CQFormatTagged {
		attr.Format = core.CQFormatTagged // all fields: this package needs them
	}
	below, err := d.Domain.OpenCQ(attr)
	if err != nil {
		d.back(&d.cqs)
		return nil, err
	}
	q := &queue{CompletionQueue: below, d: d, size: attr.Size, format: asked}
	if q.size <= 0 {
		q.size = d.k.CQSize
	}
	d.f.stands(below, q)
	return q, nil
}

// OpenCounter is fi_cntr_open(3).
func (d *domain) OpenCounter(attr core.CntrAttr) (core.Counter, error) {
	if d.k.CntrCnt == none {
		return nil, d.o.misuse("fi_cntr_open", core.ErrNoSys, "the provider has no counters (cntr_cnt is 0): count completions of a queue")
	}
	if err := d.room("fi_cntr_open", "counters", &d.cntrs, d.k.CntrCnt); err != nil {
		return nil, err
	}
	below, err := d.Domain.OpenCounter(attr)
	if err != nil {
		d.back(&d.cntrs)
		return nil, err
	}
	c := &counter{Counter: below, d: d}
	d.f.stands(below, c)
	return c, nil
}

// OpenPoll is fi_poll_open(3).
func (d *domain) OpenPoll(attr core.PollAttr) (core.PollSet, error) {
	below, err := d.Domain.OpenPoll(attr)
	if err != nil {
		return nil, err
	}
	return &pollSet{PollSet: below, f: d.f}, nil
}

// OpenSRX is fi_srx_context(3).
func (d *domain) OpenSRX(attr *core.RxAttr) (core.SharedRx, error) {
	below, err := d.Domain.OpenSRX(attr)
	if err != nil {
		return nil, err
	}
	s := &state{d: d, k: d.k, info: d.info, post: below, shared: true}
	s.enabled.Store(true)
	x := &sharedRx{rxControl: rxControl{below}, receiver: receiver{s: s, below: below}}
	if attr != nil {
		x.flags = attr.OpFlags
	}
	return x, nil
}
