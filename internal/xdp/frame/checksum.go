package frame

import (
	"encoding/binary"
	"math/bits"
)

// Sum is a sum of the Internet checksum (RFC 1071) over bytes in several places. The zero value is the sum of no
// bytes. It adds 64-bit words in the byte order in which it reads them. The checksum does not depend on byte order
// (RFC 1071, 2(B)), so words need no swapping.
type Sum struct {
	sum uint64
	odd bool // an odd number of bytes so far: the next byte is the other half of its word
}

// Add adds the next bytes.
func (s *Sum) Add(b []byte) {
	if !s.odd {
		s.sum = add(s.sum, b)
	} else {
		// The sum of bytes that begin in the other half is the swapped sum (RFC 1071, 2(B)).
		s.sum = plus(s.sum, uint64(bits.ReverseBytes16(fold(add(0, b)))))
	}
	s.odd = s.odd != (len(b)%2 != 0)
}

// plus adds with end-around carry.
func plus(a, b uint64) uint64 {
	s, c := bits.Add64(a, b, 0)
	return s + c
}

// fold reduces a sum to 16 bits. The result is 0 only for a sum of zeros.
func fold(s uint64) uint16 {
	s = s>>32 + s&0xffffffff
	s = s>>32 + s&0xffffffff
	s = s>>16 + s&0xffff
	s = s>>16 + s&0xffff
	return uint16(s)
}

// add adds b, which begins at an even position, to sum. A chain of additions with carry processes a word per cycle,
// and two chains side by side nearly two.
func add(sum uint64, b []byte) uint64 {
	le := binary.LittleEndian
	var s, t, c uint64
	if len(b) >= 128 {
		for len(b) >= 128 {
			v := b[:128:128]
			s, c = bits.Add64(s, le.Uint64(v[0:]), 0)
			s, c = bits.Add64(s, le.Uint64(v[8:]), c)
			s, c = bits.Add64(s, le.Uint64(v[16:]), c)
			s, c = bits.Add64(s, le.Uint64(v[24:]), c)
			s, c = bits.Add64(s, le.Uint64(v[32:]), c)
			s, c = bits.Add64(s, le.Uint64(v[40:]), c)
			s, c = bits.Add64(s, le.Uint64(v[48:]), c)
			s, c = bits.Add64(s, le.Uint64(v[56:]), c)
			s += c
			t, c = bits.Add64(t, le.Uint64(v[64:]), 0)
			t, c = bits.Add64(t, le.Uint64(v[72:]), c)
			t, c = bits.Add64(t, le.Uint64(v[80:]), c)
			t, c = bits.Add64(t, le.Uint64(v[88:]), c)
			t, c = bits.Add64(t, le.Uint64(v[96:]), c)
			t, c = bits.Add64(t, le.Uint64(v[104:]), c)
			t, c = bits.Add64(t, le.Uint64(v[112:]), c)
			t, c = bits.Add64(t, le.Uint64(v[120:]), c)
			t += c
			b = b[128:]
		}
		sum = plus(sum, plus(s, t))
	}
	if len(b) >= 64 {
		v := b[:64:64]
		sum, c = bits.Add64(sum, le.Uint64(v[0:]), 0)
		sum, c = bits.Add64(sum, le.Uint64(v[8:]), c)
		sum, c = bits.Add64(sum, le.Uint64(v[16:]), c)
		sum, c = bits.Add64(sum, le.Uint64(v[24:]), c)
		sum, c = bits.Add64(sum, le.Uint64(v[32:]), c)
		sum, c = bits.Add64(sum, le.Uint64(v[40:]), c)
		sum, c = bits.Add64(sum, le.Uint64(v[48:]), c)
		sum, c = bits.Add64(sum, le.Uint64(v[56:]), c)
		sum += c
		b = b[64:]
	}
	for len(b) >= 8 {
		sum, c = bits.Add64(sum, le.Uint64(b), 0)
		sum += c
		b = b[8:]
	}
	return addTail(sum, b)
}

// addTail adds the last bytes, fewer than eight.
func addTail(sum uint64, b []byte) uint64 {
	var w uint64
	if len(b) >= 4 {
		w = uint64(binary.LittleEndian.Uint32(b))
		b = b[4:]
		if len(b) >= 2 {
			w += uint64(binary.LittleEndian.Uint16(b))
			b = b[2:]
		}
	} else if len(b) >= 2 {
		w = uint64(binary.LittleEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		w += uint64(b[0]) // the missing byte counts as zero
	}
	return plus(sum, w)
}
