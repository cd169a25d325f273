package fabrictest_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gofabric/core"
	"gofabric/fabrictest"
)

// rdm is an endpoint with a queue, and with a vector in which each peer has the number of its node.
type rdm struct {
	objs []core.Object // in order of opening
	ep   *core.Endpoint
	cq   *core.CompletionQueue
	to   []core.FIAddr
}

func openRDM(t *testing.T, n *fabrictest.Node, stack string) *rdm {
	t.Helper()
	return openEP(t, n, stack, core.EPTypeRDM, core.CapMsg|core.CapTagged)
}

func openEP(t *testing.T, n *fabrictest.Node, stack string, kind core.EPType, caps core.Caps) *rdm {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	hints := core.NewHints()
	hints.Fabric.ProvName, hints.EP.Type, hints.Caps = stack, kind, caps
	infos, _, err := n.GetInfo(core.Query{Hints: hints, Node: n.Addr().String(), Service: "7471",
		Flags: core.InfoSource})
	must(err)
	r := &rdm{}
	fabric, err := n.OpenFabric(infos[0])
	must(err)
	dom, err := fabric.OpenDomain(infos[0])
	must(err)
	av, err := dom.OpenAV(core.AVAttr{})
	must(err)
	r.cq, err = dom.OpenCQ(core.CQAttr{Format: core.CQFormatMsg, WaitObj: core.WaitUnspec})
	must(err)
	r.ep, err = dom.OpenEndpoint(infos[0])
	must(err)
	must(r.ep.BindAV(av, 0))
	must(r.ep.BindCQ(r.cq, core.BindTransmit|core.BindRecv))
	must(r.ep.Enable())
	r.objs = []core.Object{fabric, dom, av, r.cq, r.ep}
	return r
}

// know inserts n nodes into the vector.
func (r *rdm) know(t *testing.T, n int) {
	t.Helper()
	av := r.objs[2].(*core.AddressVector)
	for i := range n {
		a, err := av.InsertSvc(fmt.Sprintf("node%d", i), "7471", 0)
		if err != nil {
			t.Fatal(err)
		}
		r.to = append(r.to, a)
	}
}

func (r *rdm) close(t *testing.T) {
	t.Helper()
	for i := len(r.objs) - 1; i >= 0; i-- {
		if err := r.objs[i].Close(); err != nil {
			t.Errorf("close %T: %v", r.objs[i], err)
		}
	}
}

// wait returns the next completion.
func (r *rdm) wait(t *testing.T, limit time.Duration) core.CQEntry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var e [1]core.CQEntry
	for {
		n, err := r.cq.SRead(ctx, e[:])
		if n == 1 {
			return e[0]
		}
		if err != nil && ctx.Err() == nil && err == core.ErrAgain {
			continue
		}
		t.Fatalf("no completion: %v", err)
	}
}

// TestReliable sends reliable datagrams over a bad network, in a bubble of testing/synctest. Every message is
// received once, in order and unchanged, even after a partition of ten seconds.
func TestReliable(t *testing.T) {
	const messages = 300
	for _, stack := range []string{"mem;ofi_rxd", "mem;fault;ofi_rxd"} {
		t.Run(stack, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := fabrictest.New(t, 2,
					fabrictest.Config{Faults: fabrictest.Faults{Loss: 0.05, Dup: 0.02, Reorder: 0.05, Corrupt: 0.01,
						Delay: time.Millisecond}})
				a, b := openRDM(t, net.Node(0), stack), openRDM(t, net.Node(1), stack)
				a.know(t, 2)
				b.know(t, 2)
				began := time.Now()
				bufs := make([][]byte, messages)
				for i := range bufs {
					bufs[i] = make([]byte, 5000)
					if err := b.ep.Recv(bufs[i], 0, core.AddrUnspec, core.OpContext(i)); err != nil {
						t.Fatal(err)
					}
				}
				msg := make([]byte, 3000)
				for i := range messages {
					if i == messages/2 {
						net.Partition([]int{0})
						time.AfterFunc(10*time.Second, net.Heal)
					}
					binary.LittleEndian.PutUint32(msg, uint32(i))
					for {
						err := a.ep.Send(msg, 0, a.to[1], 0)
						if err == nil {
							break
						}
						if err != core.ErrAgain {
							t.Fatal(err)
						}
						time.Sleep(time.Millisecond)
					}
					a.wait(t, time.Minute)
				}
				for i := range messages {
					e := b.wait(t, time.Minute)
					if e.Ctx != core.OpContext(i) || e.Len != len(msg) ||
						binary.LittleEndian.Uint32(bufs[i]) != uint32(i) {
						t.Fatalf("message %d: %+v with number %d", i, e, binary.LittleEndian.Uint32(bufs[i]))
					}
				}
				if d := time.Since(began); d < 10*time.Second || d > time.Minute {
					t.Errorf("it took %v", d)
				}
				a.close(t)
				b.close(t)
			})
		})
	}
}
