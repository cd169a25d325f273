package queue

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestFIFOModel compares a FIFO with a slice.
func TestFIFOModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q FIFO[int]
		var want []int
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "times") {
					next++
					want = append(want, next)
					if next%2 == 0 {
						q.Push(next)
						continue
					}
					p := q.Add()
					if *p != 0 {
						t.Fatalf("a new value is %d", *p)
					}
					*p = next
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(t, "times") {
					if len(want) == 0 {
						return
					}
					if got := q.Pop(); got != want[0] {
						t.Fatalf("%d came, want %d", got, want[0])
					}
					want = want[1:]
				}
			},
			"remove": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "times") {
					if len(want) == 0 {
						return
					}
					i := rapid.IntRange(0, len(want)-1).Draw(t, "i")
					if got := q.Remove(i); got != want[i] {
						t.Fatalf("removed %d, want %d", got, want[i])
					}
					want = slices.Delete(want, i, i+1)
				}
			},
			"": func(t *rapid.T) {
				if q.Len() != len(want) || q.Cap() < len(want) {
					t.Fatalf("%d of %d, want %d", q.Len(), q.Cap(), len(want))
				}
				for i, w := range want {
					if *q.At(i) != w {
						t.Fatalf("%d is %d, want %d", i, *q.At(i), w)
					}
				}
			},
		})
	})
}

// TestFIFOAllocatesNothing checks that a FIFO that has grown allocates nothing.
func TestFIFOAllocatesNothing(t *testing.T) {
	var q FIFO[[3]int]
	turn := func() {
		for range 100 {
			q.Push([3]int{1, 2, 3})
		}
		q.Remove(50)
		for q.Len() > 0 {
			q.Pop()
		}
	}
	turn()
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkFIFO measures Push and Pop of a value.
func BenchmarkFIFO(b *testing.B) {
	var q FIFO[[3]int]
	for range 10 {
		q.Push([3]int{})
	}
	b.ReportAllocs()
	for b.Loop() {
		q.Push(q.Pop())
	}
}
