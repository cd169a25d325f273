package atomics

import (
	"encoding/binary"
	"math/bits"
)

// wide is an integer of 128 bits.
type wide struct{ hi, lo uint64 }

// bigEndian says where the host keeps the upper half.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

func loadWide(b []byte) wide {
	first, second := binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint64(b[8:16])
	if bigEndian {
		return wide{first, second}
	}
	return wide{second, first}
}

func (w wide) store(b []byte) {
	if bigEndian {
		w.hi, w.lo = w.lo, w.hi
	}
	binary.NativeEndian.PutUint64(b, w.lo)
	binary.NativeEndian.PutUint64(b[8:16], w.hi)
}

// less compares; signed numbers have their sign in hi.
func (w wide) less(v wide, signed bool) bool {
	if w.hi != v.hi {
		if signed {
			return int64(w.hi) < int64(v.hi)
		}
		return w.hi < v.hi
	}
	return w.lo < v.lo
}

func (w wide) add(v wide) wide {
	lo, carry := bits.Add64(w.lo, v.lo, 0)
	hi, _ := bits.Add64(w.hi, v.hi, carry)
	return wide{hi, lo}
}

func (w wide) sub(v wide) wide {
	lo, borrow := bits.Sub64(w.lo, v.lo, 0)
	hi, _ := bits.Sub64(w.hi, v.hi, borrow)
	return wide{hi, lo}
}

// mul wraps, so that it is right for signed numbers, too.
func (w wide) mul(v wide) wide {
	hi, lo := bits.Mul64(w.lo, v.lo)
	return wide{hi + w.hi*v.lo + w.lo*v.hi, lo}
}

// wides does op on integers of 128 bits.
func wides(op Op, signed bool, target, operand, compare []byte) {
	for at := 0; at < len(target); at += 16 {
		d, s := loadWide(target[at:]), loadWide(operand[at:])
		if compare == nil {
			combineWide(op, signed, d, s).store(target[at:])
			continue
		}
		c := loadWide(compare[at:])
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
			s, holds = wide{s.hi&c.hi | d.hi&^c.hi, s.lo&c.lo | d.lo&^c.lo}, true
		}
		if holds {
			s.store(target[at:])
		}
	}
}

func combineWide(op Op, signed bool, d, s wide) wide {
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
		return wide{d.hi | s.hi, d.lo | s.lo}
	case BAnd:
		return wide{d.hi & s.hi, d.lo & s.lo}
	case BXor:
		return wide{d.hi ^ s.hi, d.lo ^ s.lo}
	case LOr, LAnd, LXor:
		return wide{0, truth[uint64](op, d != wide{}, s != wide{})}
	}
	return d
}
