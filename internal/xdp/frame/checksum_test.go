package frame

import (
	"fmt"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// TestSumLengths compares the sum with slowSum, for every length and every offset within a word.
func TestSumLengths(t *testing.T) {
	b := make([]byte, 700)
	for i := range b {
		b[i] = byte(i*i>>3 ^ i)
	}
	for _, fill := range []func(){func() {}, func() {
		for i := range b {
			b[i] = 0xff // every addition has a carry
		}
	}} {
		fill()
		for from := range 8 {
			for n := range len(b) - 8 {
				v := b[from : from+n]
				if got, want := bits.ReverseBytes16(fold(add(0, v))), slowSum(v); got != want {
					t.Fatalf("%d bytes from %d: %#04x, want %#04x", n, from, got, want)
				}
				if got, want := bits.ReverseBytes16(fold(add(0xffff_ffff_ffff_0000, v))),
					slowSum([]byte{0, 0, 255, 255, 255, 255, 255, 255}, v); got != want {
					t.Fatalf("%d bytes from %d on a large sum: %#04x, want %#04x", n, from, got, want)
				}
			}
		}
	}
}

// TestSumParts adds bytes in parts of any length.
func TestSumParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 300), 0, 9).Draw(t, "parts")
		var s Sum
		for _, p := range parts {
			s.Add(p)
		}
		if got, want := bits.ReverseBytes16(fold(s.sum)), slowSum(parts...); got != want {
			t.Fatalf("%#04x, want %#04x", got, want)
		}
	})
}

func BenchmarkSum(b *testing.B) {
	for _, n := range []int{64, 256, 1472, 8972} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			v := pattern(n)
			b.SetBytes(int64(n))
			for b.Loop() {
				sink = add(0, v)
			}
		})
	}
}

var sink uint64
