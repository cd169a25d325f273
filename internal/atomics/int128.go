package atomics

import (
	"encoding/binary"
	"math/bits"
)

// int128 is an integer of 128 bits, signed or not.
type int128 struct{ hi, lo uint64 }

// bigEndian says whether the host stores the upper half first.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// loadInt128 reads a number in the host's byte order.
func loadInt128(b []byte) int128 {
	first, second := binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint64(b[8:16])
	if bigEndian {
		return int128{first, second}
	}
	return int128{second, first}
}

// store writes a number in the host's byte order.
func (w int128) store(b []byte) {
	if bigEndian {
		w.hi, w.lo = w.lo, w.hi
	}
	binary.NativeEndian.PutUint64(b, w.lo)
	binary.NativeEndian.PutUint64(b[8:16], w.hi)
}

// less reports whether w < v. The sign of signed numbers is in hi.
func (w int128) less(v int128, signed bool) bool {
	if w.hi != v.hi {
		if signed {
			return int64(w.hi) < int64(v.hi)
		}
		return w.hi < v.hi
	}
	return w.lo < v.lo
}

// add, sub and mul wrap around, so that they are right for signed numbers, too (two's complement).
func (w int128) add(v int128) int128 {
	lo, carry := bits.Add64(w.lo, v.lo, 0)
	hi, _ := bits.Add64(w.hi, v.hi, carry)
	return int128{hi, lo}
}

func (w int128) sub(v int128) int128 {
	lo, borrow := bits.Sub64(w.lo, v.lo, 0)
	hi, _ := bits.Sub64(w.hi, v.hi, borrow)
	return int128{hi, lo}
}

func (w int128) mul(v int128) int128 {
	hi, lo := bits.Mul64(w.lo, v.lo)
	return int128{hi + w.hi*v.lo + w.lo*v.hi, lo}
}

// int128s executes op on integers of 128 bits.
func int128s(op Op, signed bool, target, operand, compare []byte) {
	for at := 0; at < len(target); at += 16 {
		d, s := loadInt128(target[at:]), loadInt128(operand[at:])
		if compare == nil {
			combineInt128(op, signed, d, s).store(target[at:])
			continue
		}
		c := loadInt128(compare[at:])
		holds := false
		switch op {
		case CSwapNE:
			holds = c != d
		case CSwapLE:
			holds = !d.less(c, signed)
		case CSwapLT:
			holds = c.less(d, signed)
		case CSwapGE:
			holds = !c.less(d, signed)
		case CSwapGT:
			holds = d.less(c, signed)
		case MSwap:
			s, holds = int128{s.hi&c.hi | d.hi&^c.hi, s.lo&c.lo | d.lo&^c.lo}, true
		}
		if holds {
			s.store(target[at:])
		}
	}
}

// combineInt128 returns the new value of the target d for an operation without a comparison.
func combineInt128(op Op, signed bool, d, s int128) int128 {
	switch op {
	case Min:
		if s.less(d, signed) {
			return s
		}
	case Max:
		if d.less(s, signed) {
			return s
		}
	case Sum:
		return d.add(s)
	case Prod:
		return d.mul(s)
	case Diff:
		return d.sub(s)
	case BOr:
		return int128{d.hi | s.hi, d.lo | s.lo}
	case BAnd:
		return int128{d.hi & s.hi, d.lo & s.lo}
	case BXor:
		return int128{d.hi ^ s.hi, d.lo ^ s.lo}
	case LOr, LAnd, LXor:
		return int128{0, truth[uint64](op, d != int128{}, s != int128{})}
	}
	return d
}
