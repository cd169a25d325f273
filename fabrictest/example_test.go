package fabrictest_test

import (
	"context"
	"fmt"
	"time"

	"gofabric/core"
	"gofabric/fabrictest"
)

// Two nodes have a bad network. A message from node 0 reaches node 1, although half of the datagrams are lost.
func Example() {
	net, err := fabrictest.Open(2, fabrictest.Config{Seed: 42,
		Faults: fabrictest.Faults{Loss: 0.5, Delay: time.Millisecond}})
	check(err)
	sender, receiver := newStation(net.Node(0)), newStation(net.Node(1))
	to, err := sender.av.InsertSvc("node1", "7471", 0)
	check(err)

	buf := make([]byte, 100)
	check(receiver.ep.Recv(buf, 0, core.AddrUnspec, 1))
	check(sender.ep.Send([]byte("hello"), 0, to, 2))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var done [1]core.CQEntry
	_, err = receiver.cq.SRead(ctx, done[:])
	check(err)
	fmt.Printf("%s, and something was lost: %v\n", buf[:done[0].Len], net.Stats().Lost > 0)
	_, err = sender.cq.SRead(ctx, done[:])
	check(err)
	sender.close()
	receiver.close()
	// Output: hello, and something was lost: true
}

// station is an endpoint on a node, with its objects.
type station struct {
	fabric *core.Fabric
	domain *core.Domain
	av     *core.AddressVector
	cq     *core.CompletionQueue
	ep     *core.Endpoint
}

func newStation(n *fabrictest.Node) *station {
	hints := core.NewHints()
	hints.Fabric.ProvName, hints.EP.Type, hints.Caps = "mem;ofi_rxd", core.EPTypeRDM, core.CapMsg
	infos, _, err := n.GetInfo(core.Query{Node: n.Name(), Service: "7471", Flags: core.InfoSource, Hints: hints})
	check(err)
	s := &station{}
	s.fabric, err = n.OpenFabric(infos[0])
	check(err)
	s.domain, err = s.fabric.OpenDomain(infos[0])
	check(err)
	s.av, err = s.domain.OpenAV(core.AVAttr{})
	check(err)
	s.cq, err = s.domain.OpenCQ(core.CQAttr{Format: core.CQFormatMsg, WaitObj: core.WaitUnspec})
	check(err)
	s.ep, err = s.domain.OpenEndpoint(infos[0])
	check(err)
	check(s.ep.BindAV(s.av, 0))
	check(s.ep.BindCQ(s.cq, core.BindTransmit|core.BindRecv))
	check(s.ep.Enable())
	return s
}

func (s *station) close() {
	for _, o := range []core.Object{s.ep, s.cq, s.av, s.domain, s.fabric} {
		check(o.Close())
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
