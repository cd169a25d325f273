// Package authkey proves the knowledge of an authorization key (fi_endpoint(3), auth_key) without telling it: two ends that have drawn a random number each
// show each other a keyed hash of both. Who listens learns nothing that opens another connection. Who connects may try guesses at home against the answer that
// he got, so that a key should be as hard to guess as any (16 random bytes).
//
// It says who may meet. What they say to each other afterwards is neither encrypted nor signed.
package authkey

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// Key is an authorization key. A nil Key is that of an endpoint without one.
type Key struct {
	raw string
	mac [sha256.Size]byte // what keys the hash: HMAC itself takes no difference between a key and the same with zeros behind it
}

// New makes a Key of the bytes that the application gave; nil if there are none.
func New(raw []byte) *Key {
	if len(raw) == 0 {
		return nil
	}
	return &Key{string(raw), sha256.Sum256(raw)}
}

// Text is the key's bytes, "" of nil.
func (k *Key) Text() string {
	if k == nil {
		return ""
	}
	return k.raw
}

// ProofLen is the length of a proof in bytes.
const ProofLen = 16

// Proof is what one end shows the other: HMAC-SHA-256, cut to 128 bits (RFC 2104, section 5).
type Proof [ProofLen]byte

// Prove makes the proof of the end with a role in a protocol, both named by label, for what the two ends have said so far: numbers, then a text of any length.
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

// Is compares p with what a peer sent, in a time that does not depend on where they differ.
func (p Proof) Is(b []byte) bool { return hmac.Equal(p[:], b) }
