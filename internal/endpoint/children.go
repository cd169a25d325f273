package endpoint

import (
	"gofabric/core"
	"gofabric/core/mr"
	"gofabric/cq"
)

// CompletionQueue is a completion queue of a domain (fi_cq(3)).
type CompletionQueue struct {
	*cq.Queue
	d *Domain
}

// Close fails with ErrBusy while an endpoint uses the queue (fi_close(3)).
func (q *CompletionQueue) Close() error { return q.d.closeChild(q.Queue.Close) }

// Counter is a counter of a domain (fi_cntr(3)).
type Counter struct {
	*cq.Counter
	d       *Domain
	waiting cq.Watcher // the operations that wait for the counter; nil until the first
}

// Close fails with ErrBusy while the counter is bound to an object (fi_close(3)).
func (c *Counter) Close() error { return c.d.closeChild(c.Counter.Close) }

// PollSet is a poll set of a domain (fi_poll(3)).
type PollSet struct {
	*cq.PollSet
	d *Domain
}

// Close ends the poll set. It fails with ErrBusy while the set has members (fi_close(3)).
func (s *PollSet) Close() error { return s.d.closeChild(s.PollSet.Close) }

// MemoryRegion is registered memory of a domain (fi_mr(3)).
type MemoryRegion struct {
	*mr.Region
	d *Domain
}

// Close ends the registration (fi_close(3)). On return no operation of a peer touches the memory any more.
func (m *MemoryRegion) Close() error {
	if err := m.d.closeChild(m.Region.Close); err != nil {
		return err
	}
	m.d.forget(m.Region.Key())
	return nil
}

// forget makes all endpoints drop their references to a closed memory region.
func (d *Domain) forget(key uint64) {
	d.prog.Lock()
	defer d.prog.Unlock()
	for _, e := range d.open.all() {
		e.forget(key)
	}
}

// countedRegion is a region that has counters of remote accesses bound to it, or that is persistent memory. It
// implements engine.Region.
type countedRegion mr.Region

// Persist implements engine.Region.
func (r *countedRegion) Persist(mem []byte) error { return (*mr.Region)(r).Persist(mem) }

// RemoteAccess implements engine.Region.
func (r *countedRegion) RemoteAccess(write bool, n uint64) {
	c := (*mr.Region)(r).ReadCounter()
	if write {
		c = (*mr.Region)(r).WriteCounter()
	}
	if cn, ok := c.(*Counter); ok {
		cn.Complete(int(n))
	}
}

// closeChild closes an object of d and drops its reference to d.
func (d *Domain) closeChild(close func() error) error {
	if err := close(); err != nil {
		return err
	}
	d.Unref()
	return nil
}

// OpenCQ opens a completion queue (fi_cq_open(3)).
func (d *Domain) OpenCQ(attr core.CQAttr, set core.WaitDriver) (core.CQDriver, error) {
	q, err := cq.New(attr, set, d.prog)
	if err != nil {
		return nil, err
	}
	d.Ref()
	return &CompletionQueue{q, d}, nil
}

// OpenCounter opens a counter (fi_cntr_open(3)).
func (d *Domain) OpenCounter(attr core.CntrAttr, set core.WaitDriver) (core.CounterDriver, error) {
	c, err := cq.NewCounter(attr, set, d.prog)
	if err != nil {
		return nil, err
	}
	d.Ref()
	return &Counter{Counter: c, d: d}, nil
}

// OpenPoll opens a poll set (fi_poll_open(3)).
func (d *Domain) OpenPoll(attr core.PollAttr) (core.PollDriver, error) {
	s, err := cq.NewPollSet(attr)
	if err != nil {
		return nil, err
	}
	d.Ref()
	return &PollSet{s, d}, nil
}

// RegMR registers memory, which the region borrows until its Close (fi_mr_regattr(3)).
func (d *Domain) RegMR(attr *core.MRAttr, av core.AVDriver) (core.MRDriver, error) {
	attr, err := d.regionKey(attr, av)
	if err != nil {
		return nil, err
	}
	r, err := d.mem.Reg(attr)
	if err != nil {
		return nil, err
	}
	d.Ref()
	return &MemoryRegion{r, d}, nil
}
