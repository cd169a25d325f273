package conform

// Fences (fi_endpoint(3), FI_FENCE). A fenced operation waits for all operations before it.

import (
	"bytes"
	"testing"

	"gofabric/core"
)

// testFence reads remote memory and then overwrites it. The fenced write must not overtake the reads. Without a fence
// the order would be undefined.
func testFence(t *testing.T, st Stack) {
	if !st.need(t, core.CapRMA|core.CapFence) {
		return
	}
	p := Open(t, st, WithCaps(core.CapRMA|core.CapFence))
	const size = 100_000
	mem := Pattern(size, 1)
	mr := p.B.Reg(mem, allAccess)
	defer func() { p.B.ok("Close MR", mr.Close()) }()
	for round := range uint64(5) {
		old, next := Pattern(size, round+1), Pattern(size, round+2)
		// The receive is posted first. The race detector sees no order through a socket, so this call also orders the
		// reads of mem in the round before with the write in this one.
		buf := make([]byte, 8)
		p.Retry("recv", func() error { return p.B.Rx().Recv(buf, 0, core.AddrUnspec, 30) })
		var got [4][]byte
		for i := range got {
			got[i] = make([]byte, size)
			p.Retry("read", func() error {
				return p.A.EP.Read(got[i], 0, p.A.Peer, mr.Base(), mr.Key(), core.OpContext(10+i))
			})
		}
		p.Retry("fenced write", func() error {
			return p.A.EP.WriteMsg(&core.RMAArgs{IOV: [][]byte{next}, Addr: p.A.Peer, Ctx: 20,
				RMAIOV: []core.RMAIov{{Addr: mr.Base(), Len: size, Key: mr.Key()}}},
				core.OpFence|core.OpDeliveryComplete|core.OpCompletion)
		})
		p.Retry("fenced send", func() error {
			return p.A.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{Pattern(8, round)}, Addr: p.A.Peer, Ctx: 21},
				core.OpFence|core.OpCompletion)
		})
		for i := range got {
			p.Want(p.A, core.OpContext(10+i))
			if !bytes.Equal(got[i], old) {
				t.Fatalf("round %d: read %d returned data that was written behind the fence", round, i)
			}
		}
		p.Want(p.A, 20)
		p.Want(p.A, 21)
		p.Want(p.B, 30)
		if !bytes.Equal(mem, next) {
			t.Fatalf("round %d: a message behind a fence arrived before the data that was written before the fence",
				round)
		}
	}
}
