package cq

import (
	"sync"
	"testing"

	"gofabric/core"
)

// nopProgress is an engine that has nothing to do.
type nopProgress struct{ sync.Mutex }

func (*nopProgress) Pass()        {}
func (*nopProgress) FlushStaged() {}
func (*nopProgress) EnterWait()   {}
func (*nopProgress) LeaveWait()   {}

func benchmark(b *testing.B, batch int, slot bool) {
	p := &nopProgress{}
	q, err := New(core.CQAttr{}, nil, p)
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 64)
	entries := make([]core.CQEntry, batch)
	b.ReportAllocs()
	for i := 0; i < b.N; i += batch {
		p.Lock()
		for j := range batch {
			if slot {
				e := q.Slot()
				e.CQEntry = core.CQEntry{Ctx: core.OpContext(j), Flags: core.CompRecv, Len: 64, Buf: buf, Tag: 7}
				e.Src = core.FIAddr(j)
			} else {
				e := core.CQEntry{Ctx: core.OpContext(j), Flags: core.CompRecv, Len: 64, Buf: buf, Tag: 7}
				q.Push(&e, core.FIAddr(j))
			}
		}
		p.Unlock()
		if n, err := q.Read(entries, nil); n != batch || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkPush1(b *testing.B)  { benchmark(b, 1, false) }
func BenchmarkPush64(b *testing.B) { benchmark(b, 64, false) }
func BenchmarkSlot1(b *testing.B)  { benchmark(b, 1, true) }
func BenchmarkSlot64(b *testing.B) { benchmark(b, 64, true) }

func BenchmarkReadEmpty(b *testing.B) {
	q, _ := New(core.CQAttr{}, nil, &nopProgress{})
	var entries [16]core.CQEntry
	for range b.N {
		q.Read(entries[:], nil)
	}
}
