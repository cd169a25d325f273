package core_test

import (
	"context"
	"reflect"
	"testing"

	"gofabric/core"
)

// These drivers record their arguments. Each kind of object has a driver of its own type.
type (
	notes []any

	seenFabric struct {
		core.FabricDriver
		*notes
	}
	seenDomain struct {
		core.DomainDriver
		*notes
	}
	seenEndpoint struct {
		core.EndpointDriver
		*notes
	}
	seenSRX struct {
		core.SRXDriver
		*notes
	}
	seenCQ struct {
		core.CQDriver
		*notes
	}
	seenAV struct {
		core.AVDriver
		*notes
	}
	seenMR struct {
		core.MRDriver
		*notes
	}
	seenSet struct {
		core.AVSetDriver
		*notes
	}
	seenPoll struct {
		core.PollDriver
		*notes
	}
	seenPassive struct {
		core.PassiveDriver
		*notes
	}
	seenEQ      struct{ core.EQDriver }
	seenCounter struct{ core.CounterDriver }
	seenWait    struct{ core.WaitDriver }
	seenSTX     struct{ core.STXDriver }
)

func (n *notes) note(args ...any) error { *n = append(*n, args...); return nil }

func (f seenFabric) OpenDomain(*core.Info) (core.DomainDriver, error) {
	return seenDomain{notes: f.notes}, nil
}
func (f seenFabric) OpenPassiveEndpoint(_ *core.Info, self *core.PassiveEndpoint) (core.PassiveDriver, error) {
	return seenPassive{notes: f.notes}, f.note(self)
}
func (f seenFabric) OpenEQ(_ core.EQAttr, set core.WaitDriver) (core.EQDriver, error) {
	return seenEQ{}, f.note(set)
}
func (f seenFabric) OpenWait(core.WaitAttr) (core.WaitDriver, error) { return seenWait{}, nil }
func (f seenFabric) TryWait(objs ...any) error                       { return f.note(objs...) }

func (d seenDomain) BindEQ(eq core.EQDriver, _ core.BindFlags) error { return d.note(eq) }
func (d seenDomain) OpenEndpoint(info *core.Info, self *core.Endpoint) (core.EndpointDriver, error) {
	return seenEndpoint{notes: d.notes}, d.note(info.Handle, self)
}
func (d seenDomain) OpenSRX(*core.RxAttr) (core.SRXDriver, error) {
	return seenSRX{notes: d.notes}, nil
}
func (d seenDomain) OpenSTX(*core.TxAttr) (core.STXDriver, error) { return seenSTX{}, nil }
func (d seenDomain) OpenCQ(_ core.CQAttr, set core.WaitDriver) (core.CQDriver, error) {
	return seenCQ{notes: d.notes}, d.note(set)
}
func (d seenDomain) OpenCounter(_ core.CntrAttr, set core.WaitDriver) (core.CounterDriver, error) {
	return seenCounter{}, d.note(set)
}
func (d seenDomain) OpenPoll(core.PollAttr) (core.PollDriver, error) {
	return seenPoll{notes: d.notes}, nil
}
func (d seenDomain) OpenAV(_ core.AVAttr, self *core.AddressVector) (core.AVDriver, error) {
	return seenAV{notes: d.notes}, d.note(self)
}
func (d seenDomain) RegMR(_ *core.MRAttr, av core.AVDriver) (core.MRDriver, error) {
	return seenMR{notes: d.notes}, d.note(av)
}

func (e seenEndpoint) Bind(obj any, _ core.BindFlags) error      { return e.note(obj) }
func (s seenSRX) Bind(obj any, _ core.BindFlags) error           { return s.note(obj) }
func (m seenMR) Bind(obj any, _ core.BindFlags) error            { return m.note(obj) }
func (v seenAV) BindEQ(eq core.EQDriver, _ core.BindFlags) error { return v.note(eq) }
func (v seenAV) OpenSet(core.AVSetAttr) (core.AVSetDriver, error) {
	return seenSet{notes: v.notes}, nil
}
func (s seenSet) Combine(how core.SetOp, src core.AVSetDriver) error  { return s.note(how, src) }
func (p seenPassive) BindEQ(eq core.EQDriver, _ core.BindFlags) error { return p.note(eq) }
func (p seenPoll) Add(obj any, self core.Object) error                { return p.note(obj, self) }
func (p seenPoll) Del(obj any) error                                  { return p.note(obj) }
func (q seenCQ) Read(e []core.CQEntry, src []core.FIAddr) (int, error) {
	return 0, q.note(len(e), len(src), src == nil)
}
func (q seenCQ) SRead(_ context.Context, e []core.CQEntry, src []core.FIAddr) (int, error) {
	return 1, q.note(len(e), len(src), src == nil)
}

// took compares the drivers' arguments since the last call with want.
func (n *notes) took(t *testing.T, what string, err error, want ...any) {
	t.Helper()
	if err != nil || !reflect.DeepEqual([]any(*n), want) {
		t.Errorf("%s: %v, the drivers got %v, want %v", what, err, []any(*n), want)
	}
	*n = nil
}

// TestObjects: for each object of the application the driver receives the object's driver, and nil for nil.
func TestObjects(t *testing.T) {
	n := new(notes)
	f := core.NewFabric(seenFabric{notes: n})
	d, err := f.OpenDomain(nil)
	n.took(t, "domain", err)
	w, err := f.OpenWait(core.WaitAttr{})
	n.took(t, "wait set", err)
	eq, err := f.OpenEQ(core.EQAttr{WaitSet: w})
	n.took(t, "event queue", err, seenWait{})
	q, err := d.OpenCQ(core.CQAttr{WaitSet: w})
	n.took(t, "completion queue", err, seenWait{})
	_, err = d.OpenCQ(core.CQAttr{})
	n.took(t, "completion queue without a set", err, nil)
	c, err := d.OpenCounter(core.CntrAttr{WaitSet: w})
	n.took(t, "counter", err, seenWait{})
	av, err := d.OpenAV(core.AVAttr{})
	n.took(t, "vector", err, av)
	pep, err := f.OpenPassiveEndpoint(nil)
	n.took(t, "passive endpoint", err, pep)
	info := &core.Info{Handle: pep}
	ep, err := d.OpenEndpoint(info)
	n.took(t, "endpoint", err, seenPassive{notes: n}, ep)
	if info.Handle != core.Handle(pep) {
		t.Error("the application's Info was changed")
	}
	mr, err := d.RegMR(&core.MRAttr{AuthAV: av})
	n.took(t, "region", err, seenAV{notes: n})
	_, err = d.RegMR(&core.MRAttr{})
	n.took(t, "region without a vector", err, nil)
	srx, err := d.OpenSRX(nil)
	n.took(t, "shared receive context", err)
	stx, err := d.OpenSTX(nil)
	n.took(t, "shared transmit context", err)
	set, err := av.OpenSet(core.AVSetAttr{})
	n.took(t, "set", err)
	poll, err := d.OpenPoll(core.PollAttr{})
	n.took(t, "poll set", err)

	n.took(t, "BindCQ", ep.BindCQ(q, 0), seenCQ{notes: n})
	n.took(t, "BindCounter", ep.BindCounter(c, 0), seenCounter{})
	n.took(t, "BindAV", ep.BindAV(av, 0), seenAV{notes: n})
	n.took(t, "BindEQ", ep.BindEQ(eq, 0), seenEQ{})
	n.took(t, "BindSRX", ep.BindSRX(srx), seenSRX{notes: n})
	n.took(t, "BindSTX", ep.BindSTX(stx), seenSTX{})
	n.took(t, "BindEQ of the domain", d.BindEQ(eq, 0), seenEQ{})
	n.took(t, "BindEQ of the vector", av.BindEQ(eq, 0), seenEQ{})
	n.took(t, "BindEQ of the passive endpoint", pep.BindEQ(eq, 0), seenEQ{})
	n.took(t, "BindCQ of the context", srx.BindCQ(q, 0), seenCQ{notes: n})
	n.took(t, "BindCounter of the context", srx.BindCounter(c, 0), seenCounter{})
	n.took(t, "BindCounter of the region", mr.BindCounter(c, 0), seenCounter{})
	n.took(t, "BindEndpoint", mr.BindEndpoint(ep), seenEndpoint{notes: n})
	for what, err := range map[string]error{"CQ": ep.BindCQ(nil, 0), "counter": ep.BindCounter(nil, 0),
		"AV": ep.BindAV(nil, 0), "EQ": ep.BindEQ(nil, 0), "SRX": ep.BindSRX(nil), "STX": ep.BindSTX(nil),
		"region's counter": mr.BindCounter(nil, 0), "region's endpoint": mr.BindEndpoint(nil)} {
		if err != nil {
			t.Error(what, err)
		}
	}
	n.took(t, "nil", nil, nil, nil, nil, nil, nil, nil, nil, nil)
	n.took(t, "TryWait", f.TryWait(q, eq, c, w, av), seenCQ{notes: n}, seenEQ{}, seenCounter{}, seenWait{}, nil)
	n.took(t, "Add", poll.Add(q), seenCQ{notes: n}, q)
	n.took(t, "Del", poll.Del(c), seenCounter{})
	for how, combine := range []func(*core.AVSet) error{set.Union, set.Intersect, set.Diff} {
		n.took(t, "Combine", combine(set), core.SetOp(how), seenSet{notes: n})
		n.took(t, "Combine with nothing", combine(nil), core.SetOp(how), nil)
	}
}

// TestReadFrom: drivers get as many sources as entries, and none if the application does not ask for them.
func TestReadFrom(t *testing.T) {
	n := new(notes)
	d, err := core.NewFabric(seenFabric{notes: n}).OpenDomain(nil)
	check(t, err)
	q, err := d.OpenCQ(core.CQAttr{})
	n.took(t, "queue", err, nil)
	_, err = q.Read(make([]core.CQEntry, 3))
	n.took(t, "Read", err, 3, 0, true)
	_, err = q.SRead(t.Context(), make([]core.CQEntry, 3))
	n.took(t, "SRead", err, 3, 0, true)
	for _, c := range []struct {
		entries int
		src     []core.FIAddr
		want    int
	}{{3, make([]core.FIAddr, 3), 3}, {3, make([]core.FIAddr, 2), 2}, {2, make([]core.FIAddr, 3), 2},
		{3, []core.FIAddr{}, 0}, {3, nil, 0}, {0, nil, 0}} {
		_, err := q.ReadFrom(make([]core.CQEntry, c.entries), c.src)
		n.took(t, "ReadFrom", err, c.want, c.want, false)
		_, err = q.SReadFrom(t.Context(), make([]core.CQEntry, c.entries), c.src)
		n.took(t, "SReadFrom", err, c.want, c.want, false)
	}
}
