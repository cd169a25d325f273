package hook

import "gofabric/core"

// Over is an object that stands above a driver.
type Over interface {
	// Below returns the driver below.
	Below() any
}

// Below returns the driver below x, x itself if x is not an Over, and nil for nil.
func Below[T any](x T) T {
	if o, ok := any(x).(Over); ok {
		if below, ok := o.Below().(T); ok {
			return below
		}
	}
	return x
}

// Fabric is a fabric.
type Fabric struct{ core.FabricDriver }

// Below implements Over.
func (f Fabric) Below() any { return f.FabricDriver }

// OpenEQ is fi_eq_open(3).
func (f Fabric) OpenEQ(attr core.EQAttr, set core.WaitDriver) (core.EQDriver, error) {
	return f.FabricDriver.OpenEQ(attr, Below(set))
}

// TryWait is fi_trywait(3).
func (f Fabric) TryWait(objs ...any) error {
	below := make([]any, len(objs))
	for i, o := range objs {
		below[i] = Below(o)
	}
	return f.FabricDriver.TryWait(below...)
}

// Passive is a passive endpoint.
type Passive struct{ core.PassiveDriver }

// Below implements Over.
func (p Passive) Below() any { return p.PassiveDriver }

// BindEQ is fi_pep_bind(3).
func (p Passive) BindEQ(eq core.EQDriver, flags core.BindFlags) error {
	return p.PassiveDriver.BindEQ(Below(eq), flags)
}

// EQ, CQ, Counter, WaitSet and PollSet are queues, counters and sets. A CQ or Counter of a hook that holds
// completions back must implement cq.Pollable itself.
type (
	EQ      struct{ core.EQDriver }
	CQ      struct{ core.CQDriver }
	Counter struct{ core.CounterDriver }
	WaitSet struct{ core.WaitDriver }
	PollSet struct{ core.PollDriver }
)

// Below implements Over.
func (q EQ) Below() any      { return q.EQDriver }
func (q CQ) Below() any      { return q.CQDriver }
func (c Counter) Below() any { return c.CounterDriver }
func (w WaitSet) Below() any { return w.WaitDriver }
func (p PollSet) Below() any { return p.PollDriver }

// pollable has the methods that poll sets of this module call (cq.Pollable).
type pollable interface {
	Ready(report bool) (bool, error)
	Ended() bool
}

func ready(x any, report bool) (bool, error) {
	if p, ok := x.(pollable); ok {
		return p.Ready(report)
	}
	return false, core.ErrNoSys
}

func ended(x any) bool {
	p, ok := x.(pollable)
	return ok && p.Ended()
}

// Ready and Ended implement cq.Pollable.
func (q CQ) Ready(report bool) (bool, error)      { return ready(q.CQDriver, report) }
func (q CQ) Ended() bool                          { return ended(q.CQDriver) }
func (c Counter) Ready(report bool) (bool, error) { return ready(c.CounterDriver, report) }
func (c Counter) Ended() bool                     { return ended(c.CounterDriver) }

// AV is an address vector.
type AV struct{ core.AVDriver }

// Below implements Over.
func (v AV) Below() any { return v.AVDriver }

// BindEQ is fi_av_bind(3).
func (v AV) BindEQ(eq core.EQDriver, flags core.BindFlags) error {
	return v.AVDriver.BindEQ(Below(eq), flags)
}

// Set is a set of addresses.
type Set struct{ core.AVSetDriver }

// Below implements Over.
func (s Set) Below() any { return s.AVSetDriver }

// Combine is fi_av_set_union, fi_av_set_intersect and fi_av_set_diff.
func (s Set) Combine(how core.SetOp, src core.AVSetDriver) error {
	return s.AVSetDriver.Combine(how, Below(src))
}

// MR is a memory region.
type MR struct{ core.MRDriver }

// Below implements Over.
func (m MR) Below() any { return m.MRDriver }

// Bind is fi_mr_bind(3).
func (m MR) Bind(obj any, flags core.BindFlags) error { return m.MRDriver.Bind(Below(obj), flags) }

// MC is a membership in a group.
type MC struct{ core.MCDriver }

// Below implements Over.
func (m MC) Below() any { return m.MCDriver }
