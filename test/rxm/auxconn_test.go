package rxm

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"gofabric/core"
)

// Several connections per peer.

// with3 sets the variables for three connections.
var with3 = []string{"FI_OFI_RXM_NUM_MSG_EPS", "3"}

// rma writes to b's memory n times and reads it back. In between it sends a message at times. The contexts begin at
// ctx.
func rma(t *testing.T, a, b *side, fi core.FIAddr, mem []byte, n, size int, ctx core.OpContext) {
	t.Helper()
	bufs, backs := make([][]byte, n), make([][]byte, n)
	for i := range n {
		bufs[i], backs[i] = bytes.Repeat([]byte{byte(i + int(ctx))}, size), make([]byte, size)
		m := core.RMAArgs{IOV: [][]byte{bufs[i]}, Addr: fi,
			RMAIOV: []core.RMAIov{{Addr: uint64(i * size), Len: uint64(size), Key: 1}}, Ctx: ctx + core.OpContext(i)}
		// Only the completion orders the write before the read.
		try(t, func() error { return a.ep.WriteMsg(&m, core.OpDeliveryComplete|core.OpCompletion) }, a, b)
		if i%5 == 0 {
			message(t, a, b, fi, 70_000, ctx+core.OpContext(1000+i)) // in segments
		}
	}
	until(t, "the writes complete", func() bool {
		for i := range n {
			if a.done[ctx+core.OpContext(i)] == 0 {
				return false
			}
		}
		return true
	}, a, b)
	for i := range n {
		try(t, func() error { return a.ep.Read(backs[i], 0, fi, uint64(i*size), 1, ctx+core.OpContext(2000+i)) }, a, b)
	}
	until(t, "the reads complete", func() bool {
		for i := range n {
			if a.done[ctx+core.OpContext(2000+i)] == 0 {
				return false
			}
		}
		return true
	}, a, b)
	// The race detector sees no order through sockets: b's lock orders the reads of b's memory after these writes and
	// before the next ones.
	b.conns()
	defer b.conns()
	for i := range n {
		if !bytes.Equal(backs[i], bufs[i]) || !bytes.Equal(mem[i*size:(i+1)*size], bufs[i]) {
			t.Fatalf("write %d did not arrive, or was not read back", i)
		}
	}
}

// TestAuxConns has peers with three connections, with fewer at one end, and with one. Everything arrives, over as many
// connections as both ends have.
func TestAuxConns(t *testing.T) {
	eachFormat(t, func(t *testing.T, with func(...string) map[string]string) {
		for _, tc := range []struct{ a, b, want int }{{3, 3, 3}, {3, 1, 1}, {1, 3, 1}, {2, 5, 2}, {5, 2, 2}} {
			t.Run(fmt.Sprint(tc.a, " and ", tc.b), func(t *testing.T) {
				const n, size = 20, 5000
				memA, memB := make([]byte, n*size), make([]byte, n*size)
				a := open(t, memA, with("FI_OFI_RXM_NUM_MSG_EPS", fmt.Sprint(tc.a)))
				b := open(t, memB, with("FI_OFI_RXM_NUM_MSG_EPS", fmt.Sprint(tc.b)))
				fi, back := a.know(b), b.know(a)
				for round := range 3 {
					rma(t, a, b, fi, memB, n, size, core.OpContext(1+10_000*round))
					rma(t, b, a, back, memA, n, size, core.OpContext(5000+10_000*round))
				}
				ctx := core.OpContext(100_000)
				until(t, fmt.Sprint(tc.want, " connections"), func() bool {
					ctx++
					rma(t, a, b, fi, memB, 1, size, ctx)
					return a.conns() == tc.want && b.conns() == tc.want
				}, a, b)
			})
		}
	})
}

// TestAuxConnsOrder checks which order is promised with several connections, and which with one.
func TestAuxConnsOrder(t *testing.T) {
	const kept = core.OrderSAS | core.OrderAtomicRAR | core.OrderAtomicRAW | core.OrderAtomicWAR | core.OrderAtomicWAW
	s := open(t, nil, map[string]string{"FI_OFI_RXM_NUM_MSG_EPS": "3"})
	if s.info.Tx.MsgOrder&^kept != 0 || s.info.Rx.MsgOrder&^kept != 0 || s.info.EP.MaxOrderRAWSize != 0 ||
		s.info.EP.MaxOrderWARSize != 0 || s.info.EP.MaxOrderWAWSize != 0 {
		t.Errorf("%v, %v, %+v", s.info.Tx.MsgOrder, s.info.Rx.MsgOrder, s.info.EP)
	}
	if s.info.Caps&core.CapFence != 0 {
		t.Error("fences over several connections")
	}
}

// TestAuxConnsBounded checks that a connection that is closed because it is idle closes its auxiliary connections,
// too, and that no earlier write is lost.
func TestAuxConnsBounded(t *testing.T) {
	eachFormat(t, func(t *testing.T, with func(...string) map[string]string) {
		const n, size = 10, 5000
		mem := make([]byte, n*size)
		a, b := open(t, nil, with(append(with3, "FI_OFI_RXM_IDLE_TIMEOUT", "50")...)), open(t, mem, with(with3...))
		fi := a.know(b)
		for round := range 2 {
			ctx := core.OpContext(1 + 10_000*round)
			rma(t, a, b, fi, mem, n, size, ctx)
			ctx += 5000
			until(t, "three connections",
				func() bool { ctx += 5; rma(t, a, b, fi, mem, 1, size, ctx); return a.conns() == 3 }, a, b)
			until(t, "none", func() bool { return a.conns() == 0 && b.conns() == 0 }, a, b)
		}
	})
}

// TestAuxConnsClosed has one end close with pending writes. Writes that have completed have arrived or are lost with
// the endpoint, the others fail. The other end can then exchange messages with the next endpoint.
func TestAuxConnsClosed(t *testing.T) {
	eachFormat(t, func(t *testing.T, with func(...string) map[string]string) {
		const size = 100_000
		mem := make([]byte, 20*size)
		a, b := open(t, nil, with(with3...)), open(t, mem, with(with3...))
		fi := a.know(b)
		ctx := core.OpContext(1)
		until(t, "three connections",
			func() bool { ctx += 5; rma(t, a, b, fi, mem, 1, size, ctx); return a.conns() == 3 }, a, b)
		buf := make([]byte, size)
		open := 0
		for range 40 {
			switch err := a.ep.Write(buf, 0, fi, 0, 1, 90_000); {
			case errors.Is(err, core.ErrAgain):
			default:
				check(t, err)
				open++
			}
		}
		check(t, b.ep.Close())
		for ended := 0; ended < open; {
			got, err := a.cq.Read(a.got[:])
			switch {
			case errors.Is(err, core.ErrAvail):
				var e core.CQErrEntry
				check(t, a.cq.ReadErr(&e))
				got = 1
			case !errors.Is(err, core.ErrAgain):
				check(t, err)
			}
			ended += got
		}
		until(t, "no connection is left", func() bool { return a.conns() == 0 }, a)
		b.openEP()
		fi = a.know(b)
		rma(t, a, b, fi, mem, 3, size, 200_000)
	})
}
