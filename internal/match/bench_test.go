// What a match costs at depths of 1 to 100,000: it should not depend on the depth, but for cache misses.

package match

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

var depths = []int{1, 10, 1000, 100000}

// BenchmarkFIFO is the untagged queue: the oldest is matched, and posted again.
func BenchmarkFIFO(b *testing.B) {
	for _, depth := range depths {
		b.Run(fmt.Sprint(depth), func(b *testing.B) {
			var q Queue[int, int]
			for range depth {
				q.Post(&Recv[int]{Src: AnySource})
			}
			for b.Loop() {
				q.Post(q.Match(1, 0))
			}
		})
	}
}

// benchPosted matches receives in a random order, or in posting order, and posts each again.
func benchPosted(b *testing.B, src func(i int) uint64, tag func(i int) uint64, wildcards int) {
	for _, order := range []string{"inorder", "random"} {
		for _, depth := range depths {
			b.Run(fmt.Sprintf("%s/%d", order, depth), func(b *testing.B) {
				var q Queue[int, int]
				rs := make([]Recv[int], depth)
				for i := range rs {
					rs[i].Src, rs[i].Tag, rs[i].Value = src(i), tag(i), i
					q.Post(&rs[i])
				}
				for i := range wildcards { // two classes
					q.Post(&Recv[int]{Src: AnySource, Tag: 1 << 40, Ignore: 0xf << (8 * (i % 2))})
				}
				perm := rand.New(rand.NewPCG(1, 2)).Perm(depth)
				if order == "inorder" {
					for i := range perm {
						perm[i] = i
					}
				}
				i := 0
				for b.Loop() {
					k := perm[i]
					if i++; i == depth {
						i = 0
					}
					from := src(k)
					if from == AnySource {
						from = 1
					}
					r := q.Match(from, tag(k))
					if r.Value != k {
						b.Fatal("mismatch")
					}
					q.Post(r)
				}
			})
		}
	}
}

func any1(int) uint64                 { return AnySource }
func same(int) uint64                 { return 7 }
func count(i int) uint64              { return uint64(i) }
func BenchmarkTags(b *testing.B)      { benchPosted(b, any1, count, 0) }
func BenchmarkDirected(b *testing.B)  { benchPosted(b, count, same, 0) }
func BenchmarkWildcards(b *testing.B) { benchPosted(b, any1, count, 8) }

// BenchmarkUnexpected takes in a random order and lets arrive again: exact, directed, and with a mask.
func BenchmarkUnexpected(b *testing.B) {
	for _, kind := range []string{"exact", "directed", "masked"} {
		for _, depth := range depths {
			b.Run(fmt.Sprintf("%s/%d", kind, depth), func(b *testing.B) {
				var q Queue[int, int]
				ms := make([]Msg[int], depth)
				for i := range ms {
					ms[i].Src, ms[i].Tag = uint64(i%8), uint64(i)<<8
					q.Arrive(&ms[i])
				}
				perm := rand.New(rand.NewPCG(1, 2)).Perm(depth)
				i := 0
				for b.Loop() {
					k := perm[i]
					if i++; i == depth {
						i = 0
					}
					src, ignore := AnySource, uint64(0)
					switch kind {
					case "directed":
						src = uint64(k % 8)
					case "masked":
						ignore = 0xff
					}
					m := q.Take(src, uint64(k)<<8, ignore)
					if m != &ms[k] {
						b.Fatal("mismatch")
					}
					q.Arrive(m)
				}
			})
		}
	}
}
