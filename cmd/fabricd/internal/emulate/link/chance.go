package link

import "math/bits"

// The random decisions. Each frame has one number for each.
const (
	byLoss = iota
	byBurst
	byBurstLoss
	byDup
	byReorder
	byCorrupt
	byBit
	byJitter
	kinds
)

// chance has the random numbers of one frame.
type chance struct{ seed, number uint64 }

// draw returns 64 uniform bits: the finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom
// number generators, 2014).
func (c chance) draw(kind uint64) uint64 {
	z := c.seed + (c.number*kinds+kind+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// happens reports whether an event of probability p happens.
func (c chance) happens(kind uint64, p float64) bool {
	return p > 0 && float64(c.draw(kind)>>11) < p*(1<<53)
}

// below returns a number from 0 to n-1.
func (c chance) below(kind, n uint64) uint64 {
	hi, _ := bits.Mul64(c.draw(kind), n)
	return hi
}
