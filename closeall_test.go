package gofabric

import (
	"errors"
	"slices"
	"testing"

	"gofabric/core"
)

// Objects that note the order in which they are closed.

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
		core.Endpoint
		noted
	}
	notedCQ struct {
		core.CompletionQueue
		noted
	}
	notedSet struct {
		core.AVSet
		noted
	}
	notedMC struct {
		core.MC
		noted
	}
	notedAV struct {
		core.AddressVector
		noted
	}
	notedMR struct {
		core.MemoryRegion
		noted
	}
	notedDomain struct {
		core.Domain
		noted
		children []core.Object
	}
	notedFabric struct {
		core.Fabric
		noted
	}
)

func (n *notedEP) Close() error                { return n.note() }
func (n *notedCQ) Close() error                { return n.note() }
func (n *notedSet) Close() error               { return n.note() }
func (n *notedMC) Close() error                { return n.note() }
func (n *notedAV) Close() error                { return n.note() }
func (n *notedMR) Close() error                { return n.note() }
func (n *notedDomain) Close() error            { return n.note() }
func (n *notedDomain) Children() []core.Object { return n.children }
func (n *notedFabric) Close() error            { return n.note() }

func TestCloseAllOrder(t *testing.T) {
	var order []string
	n := func(name string) noted { return noted{name: name, order: &order} }
	broken := n("mr")
	broken.err = core.ErrBusy
	ep, cq, mr := &notedEP{noted: n("ep")}, &notedCQ{noted: n("cq")}, &notedMR{noted: broken}
	domain := &notedDomain{noted: n("domain"), children: []core.Object{mr, cq, &notedAV{noted: n("av")}, &notedSet{noted: n("set")}, &notedMC{noted: n("mc")}}}
	err := CloseAll(&notedFabric{noted: n("fabric")}, domain, cq, nil, ep)
	if !errors.Is(err, core.ErrBusy) {
		t.Errorf("got %v", err)
	}
	if want := []string{"ep", "mr", "mc", "set", "cq", "av", "domain", "fabric"}; !slices.Equal(order, want) {
		t.Errorf("closed %v, want %v", order, want)
	}
}

// TestCloseAllByHand opens objects through core's calls and closes them in the worst order.
func TestCloseAllByHand(t *testing.T) {
	hints := core.NewHints()
	hints.Fabric.ProvName, hints.EP.Type, hints.Caps = "tcp", core.EPTypeRDM, core.CapMsg
	infos, _, err := GetInfo(core.Query{Node: "127.0.0.1", Flags: core.Source, Hints: hints})
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
