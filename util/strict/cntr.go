package strict

import (
	"context"

	"gofabric/core"
)

// counter is a counter: reading it makes progress, as reading a queue does.
type counter struct {
	core.Counter
	d *domain
}

func (c *counter) inner() core.Object { return c.Counter }

// Value is fi_cntr_read(3).
func (c *counter) Value() uint64 {
	c.d.release()
	return c.Counter.Value()
}

// Wait is fi_cntr_wait(3).
func (c *counter) Wait(ctx context.Context, threshold uint64) error {
	c.d.release()
	return c.Counter.Wait(ctx, threshold)
}

// Close is fi_close(3).
func (c *counter) Close() error {
	err := c.Counter.Close()
	if err == nil {
		c.d.back(&c.d.cntrs)
		c.d.f.gone(c.Counter)
	}
	return err
}

// pollSet is a poll set whose queues and counters are those that the application knows.
type pollSet struct {
	core.PollSet
	f    *fabric
	list []core.Object // added, for windows; not for concurrent use, as poll sets are not natively
}

func (p *pollSet) inner() core.Object { return p.PollSet }

// Add is fi_poll_add(3).
func (p *pollSet) Add(obj core.Object) error {
	err := p.PollSet.Add(peel(obj))
	if err == nil {
		p.list = append(p.list, obj)
	}
	return err
}

// Del is fi_poll_del(3).
func (p *pollSet) Del(obj core.Object) error {
	err := p.PollSet.Del(peel(obj))
	for i, o := range p.list {
		if err == nil && o == obj {
			p.list = append(p.list[:i], p.list[i+1:]...)
			break
		}
	}
	return err
}

// Poll is fi_poll(3).
func (p *pollSet) Poll(ready []core.Object) (int, error) {
	p.f.release()
	n, err := p.PollSet.Poll(ready)
	if err != nil {
		return n, err
	}
	for i := range n {
		ready[i] = p.f.front(ready[i])
	}
	for _, o := range p.list {
		if q, ok := o.(*queue); ok && n < len(ready) && q.waits() && !contains(ready[:n], o) {
			ready[n] = o
			n++
		}
	}
	return n, nil
}

func contains(list []core.Object, o core.Object) bool {
	for _, x := range list {
		if x == o {
			return true
		}
	}
	return false
}
