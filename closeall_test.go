package gofabric

import (
	"errors"
	"slices"
	"testing"

	"gofabric/core"
)

// These objects record the order in which they are closed.

type noted struct {
	name  string
	order *[]string
	err   error
}

func (n noted) note() error {
	*n.order = append(*n.order, n.name)
	return n.err
}

type (
	notedEP struct {
		core.ScalableDriver
		noted
	}
	notedCQ struct {
		core.CQDriver
		noted
	}
	notedSet struct {
		core.AVSetDriver
		noted
	}
	notedMC struct {
		core.MCDriver
		noted
	}
	notedAV struct {
		core.AVDriver
		noted
	}
	notedMR struct {
		core.MRDriver
		noted
	}
	notedDomain struct {
		core.DomainDriver
		noted
		mr noted
	}
	notedFabric struct {
		core.FabricDriver
		noted
		domain *notedDomain
	}
	// notedOwner is an object that belongs to the application.
	notedOwner struct {
		noted
		children []core.Object
	}
)

func (n *notedEP) Close() error     { return n.note() }
func (n *notedCQ) Close() error     { return n.note() }
func (n *notedSet) Close() error    { return n.note() }
func (n *notedMC) Close() error     { return n.note() }
func (n *notedAV) Close() error     { return n.note() }
func (n *notedMR) Close() error     { return n.note() }
func (n *notedDomain) Close() error { return n.note() }
func (n *notedFabric) Close() error { return n.note() }
func (n *notedOwner) Close() error  { return n.note() }

func (n *notedOwner) Children() []core.Object { return n.children }

// called returns n with another name.
func (n noted) called(name string) noted { return noted{name: name, order: n.order} }

func (n *notedFabric) OpenDomain(*core.Info) (core.DomainDriver, error) { return n.domain, nil }
func (n *notedDomain) OpenEndpoint(*core.Info, *core.Endpoint) (core.EndpointDriver, error) {
	return &notedEP{noted: n.called("ep")}, nil
}
func (n *notedDomain) OpenScalable(*core.Info, *core.ScalableEndpoint) (core.ScalableDriver, error) {
	return &notedEP{noted: n.called("scalable")}, nil
}
func (n *notedDomain) OpenCQ(core.CQAttr, core.WaitDriver) (core.CQDriver, error) {
	return &notedCQ{noted: n.called("cq")}, nil
}
func (n *notedDomain) OpenAV(core.AVAttr, *core.AddressVector) (core.AVDriver, error) {
	return &notedAV{noted: n.called("av")}, nil
}
func (n *notedDomain) RegMR(*core.MRAttr, core.AVDriver) (core.MRDriver, error) {
	return &notedMR{noted: n.mr}, nil
}
func (n *notedAV) OpenSet(core.AVSetAttr) (core.AVSetDriver, error) {
	return &notedSet{noted: n.called("set")}, nil
}
func (n *notedEP) JoinCollective(_ core.FIAddr, _ core.AVSetDriver, _ core.JoinFlags, _ any,
	made func(core.MCDriver) *core.MC) error {
	made(&notedMC{noted: n.called("mc")})
	return nil
}

func TestCloseAllOrder(t *testing.T) {
	var order []string
	n := noted{order: &order}
	broken := n.called("mr")
	broken.err = core.ErrBusy
	fabric := core.NewFabric(&notedFabric{noted: n.called("fabric"),
		domain: &notedDomain{noted: n.called("domain"), mr: broken}})
	opened := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	domain, err := fabric.OpenDomain(nil)
	opened(err)
	ep, err := domain.OpenEndpoint(nil)
	opened(err)
	scalable, err := domain.OpenScalable(nil)
	opened(err)
	cq, err := domain.OpenCQ(core.CQAttr{})
	opened(err)
	av, err := domain.OpenAV(core.AVAttr{})
	opened(err)
	set, err := av.OpenSet(core.AVSetAttr{})
	opened(err)
	mc, err := ep.JoinCollective(0, set, 0, nil)
	opened(err)
	mr, err := domain.RegMR(nil)
	opened(err)
	owner := &notedOwner{noted: n.called("owner"), children: []core.Object{mr, cq, av, set, mc}}
	var none *core.EventQueue
	err = CloseAll(fabric, domain, owner, cq, nil, none, scalable, ep)
	if !errors.Is(err, core.ErrBusy) {
		t.Errorf("got %v", err)
	}
	if want := []string{"scalable", "ep", "mr", "mc", "set", "cq", "av", "owner", "domain",
		"fabric"}; !slices.Equal(order, want) {
		t.Errorf("closed %v, want %v", order, want)
	}
}

// TestCloseAllByHand opens objects through core's calls, and passes them to CloseAll in the worst order.
func TestCloseAllByHand(t *testing.T) {
	hints := core.NewHints()
	hints.Fabric.ProvName, hints.EP.Type, hints.Caps = "tcp", core.EPTypeRDM, core.CapMsg
	infos, _, err := GetInfo(core.Query{Node: "127.0.0.1", Flags: core.InfoSource, Hints: hints})
	if err != nil {
		t.Fatal(err)
	}
	fabric, err := OpenFabric(infos[0])
	if err != nil {
		t.Fatal(err)
	}
	domain, err := fabric.OpenDomain(infos[0])
	if err != nil {
		t.Fatal(err)
	}
	cq, err := domain.OpenCQ(core.CQAttr{})
	if err != nil {
		t.Fatal(err)
	}
	av, err := domain.OpenAV(core.AVAttr{})
	if err != nil {
		t.Fatal(err)
	}
	ep, err := domain.OpenEndpoint(infos[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{ep.BindCQ(cq, core.BindTransmit|core.BindRecv), ep.BindAV(av, 0), ep.Enable()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := CloseAll(fabric, domain, cq, av, ep); err != nil {
		t.Fatal(err)
	}
}
