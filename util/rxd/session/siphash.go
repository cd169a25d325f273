package session

import (
	"math/bits"
	"net/netip"
)

// sip computes SipHash-2-4 (Aumasson and Bernstein, 2012) of whole words. Without the key its values cannot be
// predicted, and it costs a fraction of an HMAC, which matters in a flood of RTS.
type sip struct{ v0, v1, v2, v3, n uint64 }

// newSip begins a hash with the constants of the paper.
func newSip(key [2]uint64) sip {
	return sip{
		v0: key[0] ^ 0x736f6d6570736575, v1: key[1] ^ 0x646f72616e646f6d,
		v2: key[0] ^ 0x6c7967656e657261, v3: key[1] ^ 0x7465646279746573,
	}
}

// round is SipRound.
func (s *sip) round() {
	s.v0 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 13) ^ s.v0
	s.v0 = bits.RotateLeft64(s.v0, 32)
	s.v2 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 16) ^ s.v2
	s.v0 += s.v3
	s.v3 = bits.RotateLeft64(s.v3, 21) ^ s.v0
	s.v2 += s.v1
	s.v1 = bits.RotateLeft64(s.v1, 17) ^ s.v2
	s.v2 = bits.RotateLeft64(s.v2, 32)
}

// word adds a message word: two rounds.
func (s *sip) word(w uint64) {
	s.v3 ^= w
	s.round()
	s.round()
	s.v0 ^= w
	s.n += 8
}

// sum ends the message with its length, and returns the hash after four more rounds.
func (s *sip) sum() uint64 {
	s.word(s.n << 56)
	s.v2 ^= 0xff
	for range 4 {
		s.round()
	}
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3
}

// addr adds an address. An IPv6 zone is a local name and not part of what a peer proves.
func (s *sip) addr(a netip.AddrPort) {
	b := a.Addr().As16()
	s.word(le.Uint64(b[:]))
	s.word(le.Uint64(b[8:]))
	s.word(uint64(a.Port()))
}
