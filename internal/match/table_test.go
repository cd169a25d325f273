// This file tests the hash tables alone.

package match

import "testing"

type entry struct {
	hook tableEntry[entry]
}

// patterns has tags as applications use them, and as an attacker may choose them with the hash function known, but
// not the seed.
var patterns = map[string]func(i uint64) key{
	"counting":          func(i uint64) key { return key{AnySource, i, 0} },
	"high bits":         func(i uint64) key { return key{AnySource, i << 51, 0} },
	"middle bits":       func(i uint64) key { return key{AnySource, i << 20, 0} },
	"sources":           func(i uint64) key { return key{i, 0, 0} },
	"sources, high":     func(i uint64) key { return key{i << 51, 5, 0} },
	"masks":             func(i uint64) key { return key{AnySource, 0, i} },
	"source and tag":    func(i uint64) key { return key{i, i, 0} },
	"tag and mask":      func(i uint64) key { return key{AnySource, i, i} },
	"source and mask":   func(i uint64) key { return key{i, 3, i} },
	"grid":              func(i uint64) key { return key{i & 63, i >> 6 << 32, 0} },
	"multiples of phi":  func(i uint64) key { return key{AnySource, i * 0x9e3779b97f4a7c15, 0} },
	"complement source": func(i uint64) key { return key{^i, i, 0} },
}

func TestKeysSpread(t *testing.T) {
	const n = 1 << 13
	for name, f := range patterns {
		var tab table[entry]
		for i := range uint64(n) {
			e := new(entry)
			tab.insert(&e.hook, e, f(i), int64(i))
		}
		longest := 0
		for _, h := range tab.buckets {
			length := 0
			for ; h != nil; h = h.chain {
				length++
			}
			longest = max(longest, length)
		}
		if tab.groups != n || longest > 16 { // a random function gives 6 or 7; beyond 16 about once in 1e11
			t.Errorf("%s: %d keys, %d in one bucket", name, tab.groups, longest)
		}
	}
}

// Few receives are in another line than their own, and none is far away.
func TestReceivesSpread(t *testing.T) {
	const n = 1<<9*meanLoad - 1 // as full as it gets
	for name, f := range patterns {
		var p posted[int]
		for i := range uint64(n) {
			k := f(i)
			p.enter(&Recv[int]{Src: k.src, Tag: k.tag, Ignore: k.ignore})
		}
		away, farthest := 0, 0
		mask := len(p.table.lines) - 1
		for i := range p.table.lines {
			for _, r := range p.table.lines[i].at {
				if r != nil {
					far := (i - int(r.class.hash(r.Src, r.Tag))) & mask
					away += min(far, 1)
					farthest = max(farthest, far)
				}
			}
		}
		// A random function gives 137 with a deviation of 20, and 25 as the farthest among 20,000 trials.
		if p.table.keys != n || mask+1 != 1<<9 || away > n/8 || farthest > 80 {
			t.Errorf("%s: %d keys in %d lines, %d away, at most by %d", name, p.table.keys, mask+1, away, farthest)
		}
	}
}

// TestSpotIsForgotten: the spot must not be used for a receive that was posted again with another tag in the same
// place.
func TestSpotIsForgotten(t *testing.T) {
	p := posted[int]{indexed: true}
	post := func(tag uint64) *Recv[int] {
		r := &Recv[int]{Src: AnySource, Tag: tag}
		p.pushBack(r)
		return r
	}
	c, next := post(1<<50).class, uint64(0)
	tagIn := func(line int) uint64 { // another tag of this line
		for next++; int(c.hash(AnySource, next))&(minLines-1) != line; next++ {
		}
		return next
	}
	const full = 3
	for range perLine {
		post(tagIn(full))
	}
	r := post(tagIn(full + 1))
	if p.find(1, r.Tag) != r {
		t.Fatal("not found")
	}
	p.remove(r)
	r.Tag = tagIn(full)
	p.pushBack(r)
	p.remove(r)
	if err := p.check(); err != nil {
		t.Error(err)
	}
}

// An age index that is no longer read is dropped when half of it is stale. One that is read remains.
func TestAgeIndexDropped(t *testing.T) {
	const n = 100
	for _, walks := range []int{0, 1} {
		var q Queue[int, int]
		for i := range n {
			q.Post(&Recv[int]{Src: AnySource, Tag: uint64(i)})
		}
		q.PeekPosted(1, n)
		for range q.EachPosted() {
			break
		}
		if !q.posted.ageIndex.on {
			t.Fatal("no roster")
		}
		for i := range uint64(100 * n) {
			q.Post(q.Match(1, i*37%n))
			if l := len(q.posted.ageIndex.entries); l > minAgeIndex+2*n+1 {
				t.Fatalf("%d entries for %d receives", l, n)
			}
			for range walks {
				if r := q.FindPosted(func(*Recv[int]) bool { return true }); i >= n && r.Tag != (i+1)*37%n {
					t.Fatalf("the oldest has tag %d, want %d", r.Tag, (i+1)*37%n)
				}
			}
		}
		if q.posted.ageIndex.on != (walks > 0) {
			t.Errorf("%d steps for each match; the age index is on: %v", walks, q.posted.ageIndex.on)
		}
	}
}
