package av

import "math/bits"

// This file has the reverse look-up, from an address to its index.

// index finds the number of a key. It is a hash table of numbers with open addressing and linear probing, at most
// three quarters full. The keys themselves are in the Table. The hash has a random seed, so that an attacker cannot
// choose addresses that collide.
type index struct {
	slots        []uint32 // number+1, 0 for an empty slot
	n            int
	seed1, seed2 uint64
}

const minSlots = 16

func (x *index) init(count int, seed1, seed2 uint64) {
	size := max(minSlots, 1<<bits.Len(uint(count+count/3)))
	*x = index{slots: make([]uint32, size), seed1: seed1, seed2: seed2}
}

func (x *index) hash(k key) uint64 {
	hi, lo := bits.Mul64(k.hi^x.seed1, k.lo^x.seed2)
	hi, lo = bits.Mul64(hi^lo^x.seed1, (uint64(k.zone)<<16|uint64(k.port))^x.seed2)
	return hi ^ lo
}

// find returns the number of k.
func (x *index) find(t *Table, k key) (uint32, bool) {
	mask := uint64(len(x.slots) - 1)
	for i := x.hash(k) & mask; ; i = (i + 1) & mask {
		s := x.slots[i]
		if s == 0 {
			return 0, false
		}
		if t.at(s - 1).is(k) {
			return s - 1, true
		}
	}
}

// add adds the number of a key that is not in the index.
func (x *index) add(t *Table, k key, number uint32) {
	if x.n >= len(x.slots)/4*3 {
		old := x.slots
		x.slots = make([]uint32, 2*len(old))
		for _, s := range old {
			if s != 0 {
				k := t.at(s - 1).key()
				x.put(k, s)
			}
		}
	}
	x.put(k, number+1)
	x.n++
}

func (x *index) put(k key, s uint32) {
	mask := uint64(len(x.slots) - 1)
	i := x.hash(k) & mask
	for x.slots[i] != 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}

// remove removes the number of a key that is in the index. Later entries of the probe sequence move up, so that a
// look-up does not stop at the gap.
func (x *index) remove(t *Table, k key, number uint32) {
	mask := uint64(len(x.slots) - 1)
	gap := x.hash(k) & mask
	for x.slots[gap] != number+1 {
		gap = (gap + 1) & mask
	}
	for i := (gap + 1) & mask; x.slots[i] != 0; i = (i + 1) & mask {
		other := t.at(x.slots[i] - 1).key()
		if home := x.hash(other) & mask; (i-home)&mask >= (i-gap)&mask {
			x.slots[gap] = x.slots[i]
			gap = i
		}
	}
	x.slots[gap] = 0
	x.n--
}
