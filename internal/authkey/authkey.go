// Package authkey proves that both ends of a connection have the same authorization key (fi_endpoint(3), auth_key),
// without sending it. Each end draws a random number, and sends a keyed hash of both numbers. An eavesdropper learns
// nothing that opens another connection. A process that connects may test guesses offline against the answer that it
// got. So a key should be as hard to guess as any (16 random bytes).
//
// The proof decides only which ends connect. Their data is neither encrypted nor signed.
package authkey

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// Key is an authorization key. A nil Key belongs to an endpoint without a key.
type Key struct {
	raw string
	// HMAC itself treats a key like the same key with zeros after it, so mac is a hash of the key.
	mac [sha256.Size]byte // key of the hash
}

// New makes a Key from the application's bytes. It returns nil if there are none.
func New(raw []byte) *Key {
	if len(raw) == 0 {
		return nil
	}
	return &Key{string(raw), sha256.Sum256(raw)}
}

// Text returns the key's bytes, or "" for nil.
func (k *Key) Text() string {
	if k == nil {
		return ""
	}
	return k.raw
}

// ProofLen is the length of a proof in bytes.
const ProofLen = 16

// Proof is what an end sends to the other: HMAC-SHA-256, truncated to 128 bits (RFC 2104, section 5).
type Proof [ProofLen]byte

// Prove returns the proof of one end. label names the protocol and the role of the end. numbers and text are what the
// two ends have exchanged so far.
func (k *Key) Prove(label string, numbers []uint64, text []byte) Proof {
	h := hmac.New(sha256.New, k.mac[:])
	h.Write(append([]byte(label), 0))
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(len(numbers)))
	h.Write(b[:])
	for _, n := range numbers {
		binary.LittleEndian.PutUint64(b[:], n)
		h.Write(b[:])
	}
	h.Write(text)
	var sum [sha256.Size]byte
	return Proof(h.Sum(sum[:0])[:ProofLen])
}

// Is compares p with a peer's proof, in a time that does not depend on their differences.
func (p Proof) Is(b []byte) bool { return hmac.Equal(p[:], b) }
