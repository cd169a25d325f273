// This file tests the queue of bytes to transmit, without a connection.

package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// fill stages n bytes of op.
func (q *outQueue) fill(p *stagePool, b []byte, op *TxOp, last bool) {
	t := q.tail
	if !q.fits(len(b)) {
		t = q.makeRoom(p, len(b), false)
	}
	from := len(t.b)
	t.b = append(t.b, b...)
	q.staged(p, t, from, op, last)
}

// take transmits n bytes and returns them, and the operations that end with them.
func (q *outQueue) take(p *stagePool, n int) (b []byte, ended []*TxOp) {
	for more := make([][]byte, 0, 3); len(b) < n; {
		first, list := q.pending(more, n-len(b))
		if first != nil {
			list = [][]byte{first}
		}
		k := 0
		for _, s := range list {
			s = s[:min(len(s), n-len(b))]
			b, k = append(b, s...), k+len(s)
		}
		q.released(p, k)
		for op, left := q.next(p, k); op != nil; op, left = q.next(p, left) {
			ended = append(ended, op)
		}
	}
	return b, ended
}

// TestOutQueue queues bytes of all kinds, transmits them in pieces, and withdraws operations of which nothing has
// left. The bytes leave in order, and each operation ends with its last byte or is withdrawn.
func TestOutQueue(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var p stagePool
		var q outQueue
		var want, staged []byte // staged: of each byte of want, 1 if it is a copy
		type queued struct {
			op       *TxOp
			from, to int // in want
		}
		var ops []queued
		add := func(b []byte, copied byte) {
			want, staged = append(want, b...), append(staged, bytes.Repeat([]byte{copied}, len(b))...)
		}
		gone := 0 // bytes of want
		for step := range 300 {
			b := pattern(step, 1+r.IntN(3000))
			op := &TxOp{Send: Send{Ctx: uint64(step), NIOV: 1, IOV: [MaxIOV][]byte{b}}}
			switch r.IntN(6) {
			case 0: // a small message that is complete
				q.fill(&p, b, nil, true)
				add(b, 1)
			case 1: // one operation, copied
				q.fill(&p, b, op, true)
				ops = append(ops, queued{op, len(want), len(want) + len(b)})
				add(b, 1)
			case 2: // a header, and user memory
				q.fill(&p, []byte("header"), op, false)
				q.lendAll(&p, op)
				ops = append(ops, queued{op, len(want), len(want) + 6 + len(b)})
				add([]byte("header"), 1)
				add(b, 0)
			case 3:
				got := q.withdraw(&p, func(o *TxOp) bool { return o.Ctx%2 == 0 })
				i := 0
				for i < len(ops) && (ops[i].from < gone || ops[i].op.Ctx%2 != 0) {
					i++
				}
				if i == len(ops) {
					if got != nil {
						t.Fatalf("seed %d: %d was withdrawn although bytes of it have left", seed, got.Ctx)
					}
					continue
				}
				o := ops[i]
				if got != o.op {
					t.Fatalf("seed %d: %d was not withdrawn", seed, o.op.Ctx)
				}
				n := o.to - o.from
				want = append(want[:o.from:o.from], want[o.to:]...)
				staged = append(staged[:o.from:o.from], staged[o.to:]...)
				ops = append(ops[:i], ops[i+1:]...)
				for k := range ops[i:] {
					ops[i+k].from -= n
					ops[i+k].to -= n
				}
			default:
				n := min(r.IntN(5000), len(want)-gone)
				got, ended := q.take(&p, n)
				if !bytes.Equal(got, want[gone:gone+n]) {
					t.Fatalf("seed %d: other bytes left", seed)
				}
				gone += n
				for len(ops) > 0 && ops[0].to <= gone {
					if len(ended) == 0 || ended[0] != ops[0].op {
						t.Fatalf("seed %d: %d has left, but did not end", seed, ops[0].op.Ctx)
					}
					ops, ended = ops[1:], ended[1:]
				}
				if len(ended) > 0 {
					t.Fatalf("seed %d: %d has ended, but has not left", seed, ended[0].Ctx)
				}
			}
			if q.bytes != len(want)-gone || q.empty() != (q.bytes == 0) {
				t.Fatalf("seed %d: %d bytes are queued, want %d", seed, q.bytes, len(want)-gone)
			}
			if n := bytes.Count(staged[gone:], []byte{1}); q.queued != n {
				t.Fatalf("seed %d: %d bytes are staged, want %d", seed, q.queued, n)
			}
		}
		n := 0
		q.drain(&p, func(op *TxOp) {
			if op != ops[n].op {
				t.Fatalf("seed %d: drained %d", seed, op.Ctx)
			}
			n++
		})
		if s := fmt.Sprint(n-len(ops), q.bytes, q.queued, p.OutChunks); s != "0 0 0 0" {
			t.Fatalf("seed %d: operations, bytes, staged bytes and chunks are left: %s", seed, s)
		}
	}
}

// TestPromisedEnd checks that an end that closes must transmit the operations that are complete for the
// application, but not the rest of an operation that is partly transmitted.
func TestPromisedEnd(t *testing.T) {
	var p stagePool
	var q outQueue
	op := func(inject bool) *TxOp {
		return &TxOp{Send: Send{Inject: inject, NIOV: 1, IOV: [MaxIOV][]byte{make([]byte, 100)}}}
	}
	large, promised := op(false), op(true)
	q.lendAll(&p, large)
	check := func(what string, start, want uint64) {
		t.Helper()
		if got := q.promisedEnd(start); got != want {
			t.Errorf("%s: owed up to %d, want %d", what, got, want)
		}
	}
	check("a large send", 1000, 1000)
	q.take(&p, 30)
	check("half of it", 1030, 1000)
	q.fill(&p, []byte("ack"), nil, false)
	check("an answer behind it", 1030, 1000)
	q.fill(&p, []byte("msg"), nil, true)
	check("a message behind it", 1030, 1106)
	q.lendAll(&p, promised)
	check("an inject behind it", 1030, 1206)
	q.lendAll(&p, op(false))
	check("another large send behind it", 1030, 1206)
	q.drain(&p, func(*TxOp) {})
}
