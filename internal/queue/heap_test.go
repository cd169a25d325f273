package queue

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// thing is a value with a Place.
type thing struct {
	key   int64
	turn  int
	place Place
}

// order is the order that TestHeapModel expects.
func order(a, b *thing) int {
	if a.key != b.key {
		return int(a.key - b.key)
	}
	return a.turn - b.turn
}

// TestHeapModel compares a heap with a list that is searched for the first value.
func TestHeapModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Heap[int64, *thing]
		var model []*thing
		turn := 0
		key := rapid.Int64Range(-5, 50)
		some := func(t *rapid.T) *thing {
			if len(model) == 0 {
				t.Skip("nothing is there")
			}
			return rapid.SampledFrom(model).Draw(t, "which")
		}
		gone := func(t *rapid.T, x *thing) {
			if x.place.In() {
				t.Fatal("a value that was removed has a place")
			}
			model = slices.DeleteFunc(model, func(y *thing) bool { return y == x })
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				turn++
				x := &thing{key: key.Draw(t, "key"), turn: turn}
				h.Set(x.key, x, &x.place)
				model = append(model, x)
			},
			"pop": func(t *rapid.T) {
				some(t)
				want := slices.MinFunc(model, order)
				if got := h.Pop(); got != want {
					t.Fatalf("%+v came, want %+v", got, want)
				}
				gone(t, want)
			},
			"remove": func(t *rapid.T) {
				x := some(t)
				h.Remove(x.place)
				h.Remove(x.place) // already removed
				gone(t, x)
			},
			"set": func(t *rapid.T) {
				x := some(t)
				turn++
				x.key, x.turn = key.Draw(t, "key"), turn
				h.Set(x.key, x, &x.place)
			},
			"rekey": func(t *rapid.T) {
				by, than := key.Draw(t, "by"), key.Draw(t, "than")
				h.Rekey(func(x *thing) int64 {
					if x.key > than {
						x.key += by
					}
					return x.key
				})
			},
			"clear": func(t *rapid.T) {
				if rapid.IntRange(0, 20).Draw(t, "rarely") == 0 {
					h.Clear()
					for _, x := range slices.Clone(model) {
						gone(t, x)
					}
				}
			},
			"": func(t *rapid.T) {
				if h.Len() != len(model) {
					t.Fatalf("%d values, want %d", h.Len(), len(model))
				}
				for _, x := range model {
					if !x.place.In() || h.items[x.place-1].v != x || h.Key(x.place) != x.key {
						t.Fatalf("%+v is not at its place", x)
					}
				}
				if n := len(slices.Collect(h.All())); n != len(model) {
					t.Fatalf("%d of %d values are yielded", n, len(model))
				}
				if len(model) > 0 {
					if want := slices.MinFunc(model, order); h.Min() != want || h.MinKey() != want.key {
						t.Fatalf("%+v is first, want %+v", h.Min(), want)
					}
				}
			},
		})
	})
}

// TestHeapOfValues checks the order of values without a Place, also with equal keys.
func TestHeapOfValues(t *testing.T) {
	var h Heap[string, int]
	for i := range 300 {
		h.Push([]string{"b", "c", "a"}[i%3], i)
	}
	for i := range 300 {
		if got, want := h.Pop(), []int{2, 0, 1}[i/100]+i%100*3; got != want {
			t.Fatalf("%d came as number %d, want %d", got, i, want)
		}
	}
	if h.Clear(); h.Len() != 0 {
		t.Error("not empty")
	}
}

// TestHeapForgets checks that the garbage collector gets values that were removed.
func TestHeapForgets(t *testing.T) {
	var h Heap[int, *thing]
	for i := range 9 {
		h.Push(i, &thing{})
	}
	for h.Len() > 0 {
		h.Pop()
	}
	for _, x := range h.items[:9] {
		if x.v != nil {
			t.Fatal("a value that was removed is kept")
		}
	}
}

func things(n int) (*Heap[int64, *thing], []thing, *rand.Rand) {
	h, list, rnd := &Heap[int64, *thing]{}, make([]thing, n), rand.New(rand.NewPCG(1, 1))
	for i := range list {
		h.Set(rnd.Int64N(1e9), &list[i], &list[i].place)
	}
	return h, list, rnd
}

// TestHeapAllocatesNothing checks that a heap that has grown allocates nothing.
func TestHeapAllocatesNothing(t *testing.T) {
	h, list, rnd := things(100)
	if n := testing.AllocsPerRun(1000, func() {
		x := &list[rnd.IntN(len(list))]
		h.Set(rnd.Int64N(1e9), x, &x.place)
		h.Remove(x.place)
		h.Set(rnd.Int64N(1e9), x, &x.place)
		y := h.Pop()
		h.Set(h.MinKey()+1e9, y, &y.place)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkHeap moves values in the middle, as timers do.
func BenchmarkHeap(b *testing.B) {
	for _, n := range []struct {
		name string
		n    int
	}{{"4", 4}, {"100", 100}, {"10000", 10000}} {
		b.Run("set/"+n.name, func(b *testing.B) {
			h, list, rnd := things(n.n)
			b.ReportAllocs()
			for b.Loop() {
				x := &list[rnd.IntN(n.n)]
				h.Set(rnd.Int64N(1e9), x, &x.place)
			}
		})
		b.Run("pop/"+n.name, func(b *testing.B) {
			h, _, rnd := things(n.n)
			b.ReportAllocs()
			for b.Loop() {
				x := h.Pop()
				h.Set(rnd.Int64N(1e9), x, &x.place)
			}
		})
	}
}
