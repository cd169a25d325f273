package strict

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"gofabric/core"
	"gofabric/util/hook"
)

// domain is an open domain, with its registrations and the transfers under way.
type domain struct {
	hook.Domain
	f    *fabric
	h    *Hook
	k    *Kind
	info *core.Info
	mode core.MRMode // demands on registrations
	busy atomic.Int32

	mu        sync.Mutex
	seq       uint64
	transfers map[core.OpContext]*transfer // under way, by the contexts that the stack below has
	inUse     map[core.OpContext]bool      // contexts of the application that the provider has borrowed (FI_CONTEXT)
	claims    map[claim]core.OpContext
	regions   map[core.Desc]*region
	keys      map[uint64]*region // regions that peers may access
	eps       map[*state]bool
	cqs       int
	cntrs     int
}

func newDomain(f *fabric, below core.DomainDriver, info *core.Info) *domain {
	k := f.h.profile.kind(info.EP.Type)
	if k == nil {
		k = &f.h.profile.Kinds[0]
	}
	d := &domain{Domain: hook.Domain{DomainDriver: below}, f: f, h: f.h, k: k, info: info.Dup(), mode: info.Domain.MRMode, transfers: map[core.OpContext]*transfer{},
		inUse: map[core.OpContext]bool{}, claims: map[claim]core.OpContext{}, regions: map[core.Desc]*region{}, keys: map[uint64]*region{}, eps: map[*state]bool{}}
	if d.mode&core.MRModeBasic != 0 {
		d.mode |= k.MRMode & (basicMap | core.MRModeLocal)
	}
	return d
}

// Close is fi_close(3).
func (d *domain) Close() error {
	err := d.Domain.Close()
	if err == nil {
		d.f.mu.Lock()
		delete(d.f.domains, d)
		d.f.mu.Unlock()
	}
	return err
}

// enter records that a thread is in a call on the domain. leave ends it. With FI_THREAD_DOMAIN the application
// promised that there is only one at a time.
func (d *domain) enter(op string) error {
	if d.busy.Add(1) > 1 && d.info.Domain.Threading == core.ThreadDomain {
		d.busy.Add(-1)
		return d.h.misuse(op, core.ErrOpBadState, "two threads call into one domain at the same time, but it was opened with FI_THREAD_DOMAIN: "+
			"with that the provider takes no lock, and its queues would be corrupted")
	}
	return nil
}

func (d *domain) leave() { d.busy.Add(-1) }

// room counts a new object. The number of objects has a limit.
func (d *domain) room(op, what string, n *int, limit int) error {
	d.mu.Lock()
	full := limit > 0 && *n >= limit
	if !full {
		*n++
	}
	d.mu.Unlock()
	if full {
		return d.h.misuse(op, core.ErrNoSpc, "%d %s are open, and the adapter has no more: close some", limit, what)
	}
	return nil
}

func (d *domain) back(n *int) {
	d.mu.Lock()
	*n--
	d.mu.Unlock()
}

// release posts the transfers that endpoints hold back.
func (d *domain) release() {
	d.mu.Lock()
	list := slices.Collect(maps.Keys(d.eps))
	d.mu.Unlock()
	for _, s := range list {
		s.release()
	}
}

// OpenCQ is fi_cq_open(3).
func (d *domain) OpenCQ(attr core.CQAttr, set core.WaitDriver) (core.CQDriver, error) {
	if d.k.WaitObjs != nil && !slices.Contains(d.k.WaitObjs, attr.WaitObj) {
		return nil, d.h.misuse("fi_cq_open", core.ErrNoSys, "the provider has no such wait object for completion queues: open them with FI_WAIT_NONE, FI_WAIT_UNSPEC or, for connected endpoints, FI_WAIT_FD")
	}
	if err := d.room("fi_cq_open", "completion queues", &d.cqs, d.k.CQCnt); err != nil {
		return nil, err
	}
	asked := attr.Format
	if asked <= core.CQFormatTagged {
		attr.Format = core.CQFormatTagged // all fields: this package needs them
	}
	below, err := d.Domain.OpenCQ(attr, set)
	if err != nil {
		d.back(&d.cqs)
		return nil, err
	}
	q := &queue{CQ: hook.CQ{CQDriver: below}, d: d, size: attr.Size, format: asked}
	if q.size <= 0 {
		q.size = d.k.CQSize
	}
	return q, nil
}

// OpenCounter is fi_cntr_open(3).
func (d *domain) OpenCounter(attr core.CntrAttr, set core.WaitDriver) (core.CounterDriver, error) {
	if d.k.CntrCnt == none {
		return nil, d.h.misuse("fi_cntr_open", core.ErrNoSys, "the provider has no counters (cntr_cnt is 0): count completions of a queue")
	}
	if err := d.room("fi_cntr_open", "counters", &d.cntrs, d.k.CntrCnt); err != nil {
		return nil, err
	}
	below, err := d.Domain.OpenCounter(attr, set)
	if err != nil {
		d.back(&d.cntrs)
		return nil, err
	}
	return &counter{hook.Counter{CounterDriver: below}, d}, nil
}
