package cq

import (
	"errors"
	"math"
	"testing"

	"gofabric/core"
	"pgregory.net/rapid"
)

func TestOpen(t *testing.T) {
	for _, attr := range []core.CQAttr{
		{Format: core.CQFormatTagged + 1}, {Flags: 1 << 11}, {Size: -1}, {WaitObj: core.WaitMutexCond},
		{WaitObj: core.WaitSetObj},
	} {
		if _, err := New(attr, nil, &fake{}); !errors.Is(err, core.ErrInval) {
			t.Errorf("%+v: %v", attr, err)
		}
	}
	for size, want := range map[int]int{0: 256, 1: 16, 17: 32, 1024: 1024, 1 << 20: 1024, math.MaxInt: 1024} {
		if q, _ := newQueue(t, core.CQAttr{Size: size}); len(q.ring) != want {
			t.Errorf("size %d: %d entries at first, want %d", size, len(q.ring), want)
		}
	}
	if q, _ := newQueue(t, core.CQAttr{}); q.Format() != core.CQFormatContext {
		t.Error("format", q.Format())
	}
}

func TestProgressOfReads(t *testing.T) {
	q, f := newQueue(t, core.CQAttr{})
	var e [2]core.CQEntry
	check := func(what string, n int, err error, wantN int, wantErr error, passes, flushes int) {
		t.Helper()
		if n != wantN || err != wantErr || f.passes != passes || f.flushes != flushes {
			t.Fatalf("%s: %d %v, %d passes, %d flushes", what, n, err, f.passes, f.flushes)
		}
	}
	n, err := q.Read(e[:], nil)
	check("empty", n, err, 0, core.ErrAgain, 1, 0)
	n, err = q.Read(nil, nil)
	check("empty, no room", n, err, 0, core.ErrAgain, 2, 0)
	f.do(func() { push(q, 1); push(q, 2); push(q, 3) })
	n, err = q.Read(nil, nil)
	check("no room", n, err, 0, nil, 3, 0)
	n, err = q.Read(e[:], nil)
	check("two of three", n, err, 2, nil, 3, 0)
	n, err = q.Read(e[:], nil)
	check("emptied", n, err, 1, nil, 3, 1)
	f.onPass = func() { push(q, 4) }
	n, err = q.Read(e[:], nil)
	check("the pass brought it", n, err, 1, nil, 4, 2)
	f.onPass = nil
	f.do(func() {
		for i := range 200 {
			push(q, i)
		}
	})
	for range passEvery {
		q.Read(e[:1], nil)
	}
	check("never emptied", 0, nil, 0, nil, 5, 2)
}

func TestErrorsKeepTheirPlace(t *testing.T) {
	q, f := newQueue(t, core.CQAttr{})
	var e [8]core.CQEntry
	var x core.CQErrEntry
	pushErr := func(ctx int) {
		q.PushErr(&core.CQErrEntry{CQEntry: core.CQEntry{Ctx: core.OpContext(ctx)}, Err: core.ErrTrunc, OLen: ctx})
	}
	if err := q.ReadErr(&x); err != core.ErrAgain {
		t.Fatal(err)
	}
	f.do(func() { push(q, 1); push(q, 2); pushErr(3); pushErr(4); push(q, 5) })
	if err := q.ReadErr(&x); err != core.ErrAgain {
		t.Fatal("error before the successes ahead of it:", err)
	}
	if n, err := q.Read(e[:], nil); n != 2 || err != nil || e[1].Ctx != 2 {
		t.Fatal(n, err, e[1])
	}
	for want := 3; want <= 4; want++ {
		if n, err := q.Read(e[:], nil); n != 0 || err != core.ErrAvail {
			t.Fatal(n, err)
		}
		if n, err := q.Read(nil, nil); n != 0 || err != nil {
			t.Fatal("no room for entries:", n, err)
		}
		if err := q.ReadErr(&x); err != nil || x.OLen != want || x.Err != core.ErrTrunc {
			t.Fatal(err, x)
		}
	}
	if n, err := q.Read(e[:], nil); n != 1 || err != nil || e[0].Ctx != 5 {
		t.Fatal(n, err, e[0])
	}
	if _, err := q.Read(e[:], nil); err != core.ErrAgain {
		t.Fatal(err)
	}
}

// TestModel compares the queue with two lists, under random pushes and reads, while it grows and wraps.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &fake{}
		q, _ := New(core.CQAttr{Size: 16, Format: core.CQFormatTagged}, nil, f)
		var model []int // positive: success, negative: error
		next := 1
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				f.Lock()
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					push(q, next)
					model = append(model, next)
					next++
				}
				f.Unlock()
			},
			"error": func(t *rapid.T) {
				f.Lock()
				q.PushErr(&core.CQErrEntry{OLen: next, Err: core.ErrIO})
				f.Unlock()
				model = append(model, -next)
				next++
			},
			"read": func(t *rapid.T) {
				e := make([]core.CQEntry, rapid.IntRange(1, 30).Draw(t, "room"))
				src := make([]core.FIAddr, len(e))
				n, err := q.Read(e, src)
				switch {
				case len(model) == 0:
					if err != core.ErrAgain {
						t.Fatal(n, err)
					}
				case model[0] < 0:
					var x core.CQErrEntry
					if err != core.ErrAvail || q.ReadErr(&x) != nil || x.OLen != -model[0] {
						t.Fatal(n, err, x, model[0])
					}
					model = model[1:]
				default:
					if err != nil || n == 0 {
						t.Fatal(n, err)
					}
					for i := range n {
						if model[i] != int(e[i].Ctx) || model[i] != int(src[i]) || string(e[i].Buf) != "x" {
							t.Fatal(i, e[i], src[i], model[i])
						}
					}
					if n < len(e) && n < len(model) && model[n] > 0 {
						t.Fatal("a short read", n)
					}
					model = model[n:]
				}
			},
			"": func(t *rapid.T) {
				for i := range q.ring {
					at := uint64(i)
					if (at-q.head)&q.mask >= q.tail-q.head && q.ring[i].Buf != nil {
						t.Fatal("a consumed entry keeps its buffer")
					}
				}
			},
		})
	})
}

func TestGrowsAndShrinks(t *testing.T) {
	q, f := newQueue(t, core.CQAttr{Size: 16})
	const many = 100_000
	f.do(func() {
		for i := range many {
			push(q, i)
		}
	})
	e := make([]core.CQEntry, 1000)
	for want := 0; want < many; {
		n, err := q.Read(e, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range e[:n] {
			if int(x.Ctx) != want {
				t.Fatal(x.Ctx, want)
			}
			want++
		}
	}
	for range 40 * shrinkAfter {
		q.Read(e, nil)
	}
	if len(q.ring) != 16 {
		t.Error("still", len(q.ring), "entries after the burst")
	}
}

func TestClose(t *testing.T) {
	q, _ := newQueue(t, core.CQAttr{})
	q.Ref()
	wantErr(t, q.Close(), core.ErrBusy)
	q.Unref()
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	wantErr(t, q.Close(), core.ErrBadF)
	_, err := q.Read(make([]core.CQEntry, 1), nil)
	wantErr(t, err, core.ErrBadF)
}

func TestAllocs(t *testing.T) {
	p := &nopProgress{}
	q, _ := New(core.CQAttr{}, nil, p)
	entries := make([]core.CQEntry, 64)
	c, _ := NewCounter(core.CntrAttr{}, nil, p)
	if n := testing.AllocsPerRun(1000, func() {
		p.Lock()
		for i := range 64 {
			push2(q, i)
			c.Complete(8)
		}
		p.Unlock()
		q.Read(entries, nil)
		c.Value()
	}); n != 0 {
		t.Error(n, "allocations per 64 completions")
	}
}

func push2(q *Queue, i int) {
	e := core.CQEntry{Ctx: core.OpContext(i)}
	q.Push(&e, 1)
}

func TestStrError(t *testing.T) {
	q, _ := newQueue(t, core.CQAttr{})
	if a, b := q.StrError(111), q.StrError(-111); a != b || a != core.ErrConnRefused.Error() {
		t.Error(a, b)
	}
}

// TestErrorsKeepTheirRoom: errors that are read as fast as they come allocate nothing, even if they overlap.
func TestErrorsKeepTheirRoom(t *testing.T) {
	f := &fake{}
	q, err := New(core.CQAttr{}, nil, f)
	if err != nil {
		t.Fatal(err)
	}
	var e core.CQErrEntry
	next, want := 0, 0
	push := func() {
		next++
		q.PushErr(&core.CQErrEntry{OLen: next})
	}
	push()
	round := func() {
		for range 3 {
			push()
		}
		for range 3 {
			if want++; q.ReadErr(&e) != nil || e.OLen != want {
				t.Fatalf("error %d, want %d", e.OLen, want)
			}
		}
	}
	round()
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if want++; q.ReadErr(&e) != nil || e.OLen != want || q.ReadErr(&e) == nil {
		t.Error("the errors are out of order")
	}
	for range 10 * errKeep {
		push()
	}
	for range 10 * errKeep {
		_ = q.ReadErr(&e)
	}
	if q.errs != nil {
		t.Error("a queue that was full of errors keeps their room")
	}
}
