package conform

// Test data: patterns that no shifted, mixed up or truncated message matches.

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"testing"

	"gofabric/core"
)

// still is data that is never written, for messages whose content does not matter. No test sends from the buffer into
// which it receives.
var still = Pattern(64, 0x5717)

// Fill writes the pattern of seed into b.
func Fill(b []byte, seed uint64) {
	x := seed*0x9e3779b97f4a7c15 + 0x632be59bd9b4e019
	for len(b) >= 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		binary.LittleEndian.PutUint64(b, x)
		b = b[8:]
	}
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
}

// Pattern returns n bytes of the pattern of seed.
func Pattern(n int, seed uint64) []byte {
	b := make([]byte, n)
	Fill(b, seed)
	return b
}

// CheckPattern fails the test unless b is exactly Pattern(n, seed).
func CheckPattern(t testing.TB, what string, b []byte, n int, seed uint64) {
	t.Helper()
	if len(b) < n {
		t.Fatalf("%s: %d bytes, want %d", what, len(b), n)
	}
	want := Pattern(n, seed)
	if bytes.Equal(b[:n], want) {
		return
	}
	for i := range want {
		if b[i] != want[i] {
			t.Fatalf("%s: data differ from byte %d of %d on: %x, want %x", what, i, n, clip(b[i:n]), clip(want[i:]))
		}
	}
}

// CheckZero fails the test unless b is all zero.
func CheckZero(t testing.TB, what string, b []byte) {
	t.Helper()
	for i, v := range b {
		if v != 0 {
			t.Fatalf("%s: byte %d of %d was written (%#x), want untouched", what, i, len(b), v)
		}
	}
}

func clip(b []byte) []byte {
	if len(b) > 16 {
		return b[:16]
	}
	return b
}

// split splits b into n slices of uneven length. Some may be empty.
func split(b []byte, n int) [][]byte {
	iov := make([][]byte, 0, n)
	for i := n; i > 1; i-- {
		k := len(b) / i
		if i%2 == 0 {
			k = len(b) / (i + 1)
		}
		iov = append(iov, b[:k])
		b = b[k:]
	}
	return append(iov, b)
}

// rng is a small seeded generator, so that failures repeat.
type rng uint64

func (r *rng) next() uint64 {
	x := uint64(*r)
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	*r = rng(x)
	return x
}

func (r *rng) intn(n int) int { return int(r.next() % uint64(n)) }

// tx splits b into n slices, or as many as the side's transmits may have. rx is for receives.
func (s *Side) tx(b []byte, n int) [][]byte { return split(b, max(1, min(n, s.Info.Tx.IOVLimit))) }
func (s *Side) rx(b []byte, n int) [][]byte { return split(b, max(1, min(n, s.Info.Rx.IOVLimit))) }

// remote describes n bytes of remote memory as parts ranges, or as many as the side's operations may have.
func (s *Side) remote(addr, key uint64, n, parts int) []core.RMAIov {
	return riov(addr, key, n, max(1, min(parts, s.Info.Tx.RMAIOVLimit)))
}

// tags returns the highest tag that the side can use: all bits of its format (fi_endpoint(3), mem_tag_format).
func (s *Side) tags() uint64 {
	return 1<<bits.Len64(s.Info.EP.MemTagFormat) - 1
}

// data returns as many bytes of cqData as the side can send.
func (s *Side) data() uint64 {
	if n := s.Info.Domain.CQDataSize; n > 0 && n < 8 {
		return cqData & (1<<(8*n) - 1)
	}
	return cqData
}
