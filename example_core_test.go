package gofabric_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"time"

	"gofabric"
	"gofabric/core"
)

// Core's objects are opened one by one, as in C: Info, fabric and domain, then queue, counter, address vector and
// endpoint, which are bound together. The counter counts messages, and the completion queue describes each.
func Example_core() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	hints := core.NewHints()
	hints.Fabric.ProvName, hints.EP.Type, hints.Caps = "tcp", core.EPTypeRDM, core.CapMsg
	infos, _, err := gofabric.GetInfo(core.Query{Node: "127.0.0.1", Flags: core.InfoSource, Hints: hints})
	check(err)
	fabric, err := gofabric.OpenFabric(infos[0])
	check(err)
	domain, err := fabric.OpenDomain(infos[0])
	check(err)
	cq, err := domain.OpenCQ(core.CQAttr{Format: core.CQFormatMsg, WaitObj: core.WaitUnspec})
	check(err)
	arrived, err := domain.OpenCounter(core.CntrAttr{WaitObj: core.WaitUnspec})
	check(err)
	av, err := domain.OpenAV(core.AVAttr{})
	check(err)
	ep, err := domain.OpenEndpoint(infos[0])
	check(err)
	defer gofabric.CloseAll(ep, av, arrived, cq, domain, fabric)
	check(ep.BindCQ(cq, core.BindTransmit|core.BindRecv))
	check(ep.BindCounter(arrived, core.BindRecv))
	check(ep.BindAV(av, 0))
	check(ep.Enable())

	self, err := ep.Name()
	check(err)
	fi := make([]core.FIAddr, 1)
	_, err = av.Insert([]core.Addr{self}, fi, 0)
	check(err)
	check(ep.Recv(make([]byte, 64), 0, core.AddrUnspec, 7)) // the completion has 7 as its context
	check(ep.Send([]byte("to myself"), 0, fi[0], 8))

	check(arrived.Wait(ctx, 1))
	var done [2]core.CQEntry
	for n := 0; n < len(done); {
		got, err := cq.SRead(ctx, done[n:])
		check(err)
		n += got
	}
	for _, e := range done {
		if e.Flags&core.CompRecv != 0 {
			fmt.Printf("operation %d received %d bytes: %v\n", e.Ctx, e.Len, e.Flags)
		}
	}
	// Output: operation 7 received 9 bytes: FI_RECV, FI_MSG
}

// Two nodes add to a number in the memory of the first node, which makes no call for it. Each gets the number from
// before its addition.
func Example_atomics() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a, b := openNode(core.CapAtomic), openNode(core.CapAtomic)
	defer a.Close()
	defer b.Close()
	memory := make([]byte, 8)
	mr, err := a.domain.RegMR(&core.MRAttr{IOV: [][]byte{memory},
		Access: core.AccessRemoteRead | core.AccessRemoteWrite, RequestedKey: 42})
	check(err)
	name, err := a.ep.Name()
	check(err)

	operand, before := make([]byte, 8), make([]byte, 8)
	for i, n := range []*node{a, b} {
		fi := make([]core.FIAddr, 1)
		_, err := n.av.Insert([]core.Addr{name}, fi, 0)
		check(err)
		binary.NativeEndian.PutUint64(operand, uint64(100+i))
		add := core.AtomicArgs{IOV: [][]byte{operand}, Addr: fi[0],
			RMAIOC: []core.RMAIoc{{Addr: mr.Base(), Count: 1, Key: mr.Key()}}, Type: core.Uint64, Op: core.AtomicSum}
		// core.ErrAgain would mean that the queue is full: read completions and try again.
		check(n.ep.FetchAtomic(&add, [][]byte{before}, nil, 0))
		_, err = n.cq.SRead(ctx, make([]core.CQEntry, 1))
		check(err)
		fmt.Println("added", 100+i, "to", binary.NativeEndian.Uint64(before))
	}
	check(mr.Close()) // peers no longer change the memory, so it may be read
	fmt.Println("now", binary.NativeEndian.Uint64(memory))
	// Output:
	// added 100 to 0
	// added 101 to 100
	// now 201
}

// node is an endpoint of core with its fabric, domain and other objects.
type node struct {
	fabric *core.Fabric
	domain *core.Domain
	cq     *core.CompletionQueue
	av     *core.AddressVector
	ep     *core.Endpoint
}

// openNode opens a reliable datagram endpoint. The system chooses the port.
func openNode(caps core.Caps) *node {
	hints := core.NewHints()
	hints.Fabric.ProvName, hints.EP.Type, hints.Caps, hints.Domain.DataProgress = "tcp", core.EPTypeRDM, caps,
		core.ProgressAuto
	infos, _, err := gofabric.GetInfo(core.Query{Node: "127.0.0.1", Flags: core.InfoSource, Hints: hints})
	check(err)
	n := &node{}
	n.fabric, err = gofabric.OpenFabric(infos[0])
	check(err)
	n.domain, err = n.fabric.OpenDomain(infos[0])
	check(err)
	n.cq, err = n.domain.OpenCQ(core.CQAttr{Format: core.CQFormatMsg, WaitObj: core.WaitUnspec})
	check(err)
	n.av, err = n.domain.OpenAV(core.AVAttr{})
	check(err)
	n.ep, err = n.domain.OpenEndpoint(infos[0])
	check(err)
	check(n.ep.BindCQ(n.cq, core.BindTransmit|core.BindRecv))
	check(n.ep.BindAV(n.av, 0))
	check(n.ep.Enable())
	return n
}

func (n *node) Close() { check(gofabric.CloseAll(n.ep, n.av, n.cq, n.domain, n.fabric)) }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
