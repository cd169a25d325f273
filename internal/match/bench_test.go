// This file measures the cost of a match at depths of 1 to 100,000. It should not depend on the depth, except for
// cache misses.

package match

import (
	"fmt"
	"math/bits"
	"testing"
)

var depths = []int{1, 10, 1000, 100000}

// BenchmarkFIFO measures the untagged queue: the oldest receive is matched and posted again.
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

// A pick chooses the object of the next round.
type pick struct{ random, state uint64 }

func picker(order string) *pick {
	if order == "random" {
		return &pick{random: 0x9e3779b97f4a7c15}
	}
	return &pick{}
}

func (p *pick) next(n int) int {
	if p.random == 0 {
		if p.state++; p.state >= uint64(n) {
			p.state = 0
		}
		return int(p.state)
	}
	p.state = p.state*6364136223846793005 + p.random
	hi, _ := bits.Mul64(p.state, uint64(n))
	return int(hi)
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
				pick := picker(order)
				for b.Loop() {
					k := pick.next(depth)
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

// BenchmarkUnexpected takes messages in random order and adds them again: exact, directed, and with a mask.
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
				pick := picker("random")
				for b.Loop() {
					k := pick.next(depth)
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

// BenchmarkFloor measures the share of memory access in BenchmarkTags/random. A bare loop makes the accesses that
// every table of so many receives must make, on arrays as large as the queue's. It reads a random line, reads the
// receive that the line refers to, and writes both. In "apart" the processor may overlap many rounds, which is hardly
// possible with matches; in "chained" each round needs the receive of the round before.
func BenchmarkFloor(b *testing.B) {
	for _, kind := range []string{"apart", "chained"} {
		for _, depth := range depths {
			b.Run(fmt.Sprintf("%s/%d", kind, depth), func(b *testing.B) {
				type block [8]int
				lines, receives := make([]block, linesFor(depth)), make([]block, depth)
				for i := range receives {
					receives[i][0] = i
				}
				pick, seen, chained := picker("random"), 0, kind == "chained"
				for b.Loop() {
					k := pick.next(depth)
					if chained {
						k ^= seen >> (bits.UintSize - 24)
					}
					hash, _ := bits.Mul64(uint64(k)<<40, 0x9e3779b97f4a7c15)
					l := &lines[int(hash)&(len(lines)-1)]
					r := &receives[k+l[0]]
					seen = r[0]
					r[1]++
					l[1]++
				}
			})
		}
	}
}
