package chaos

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// Content that says what it is.

// stampSize is what a stamp takes of a buffer, bytes.
const stampSize = 32

// Kinds of content.
const (
	aMessage = iota + 0x51
	aWrite
	anInitial // what a process has in its memory before anybody writes there
)

// stamp says where content comes from. The bytes behind it follow from it.
type stamp struct {
	kind, owner, life uint32
	size              uint32
	seq               uint64
	delivered         uint64 // of messages: the last one to the same peer that is known to have come
}

func (s stamp) tag() uint64 { return uint64(s.owner)<<56 | uint64(s.life)<<40 | s.seq&(1<<40-1) }

// fill makes the content of s, which is b's length.
func (s stamp) fill(b []byte) {
	s.size = uint32(len(b))
	le := binary.LittleEndian
	le.PutUint32(b, s.kind)
	le.PutUint32(b[4:], s.owner)
	le.PutUint32(b[8:], s.life)
	le.PutUint32(b[12:], s.size)
	le.PutUint64(b[16:], s.seq)
	le.PutUint64(b[24:], s.delivered)
	s.each(b[stampSize:], func(b []byte, x uint64) bool {
		var w [8]byte
		le.PutUint64(w[:], x)
		copy(b, w[:])
		return true
	})
}

// each gives out the words of the content, eight bytes each but for the last.
func (s stamp) each(b []byte, f func(b []byte, x uint64) bool) {
	x := uint64(s.kind)<<48 ^ uint64(s.owner)<<32 ^ uint64(s.life) ^ s.seq*0x9e3779b97f4a7c15 ^ s.delivered*0xd6e8feb86659fd93 ^ uint64(s.size)<<20
	for ; len(b) > 0; b = b[min(8, len(b)):] {
		x += 0x9e3779b97f4a7c15
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		if !f(b[:min(8, len(b))], z^z>>27) {
			return
		}
	}
}

// read checks every byte of b, of which there may be less than was filled.
func read(b []byte) (s stamp, err error) {
	if len(b) < stampSize {
		return s, fmt.Errorf("%d bytes", len(b))
	}
	le := binary.LittleEndian
	s = stamp{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:]), le.Uint64(b[16:]), le.Uint64(b[24:])}
	if s.kind < aMessage || s.kind > anInitial || int(s.size) < len(b) {
		return s, fmt.Errorf("no stamp: %+v in %d bytes", s, len(b))
	}
	at := stampSize
	s.each(b[stampSize:], func(b []byte, x uint64) bool {
		var w [8]byte
		le.PutUint64(w[:], x)
		if string(b) != string(w[:len(b)]) {
			err = fmt.Errorf("%+v: wrong from byte %d on: %x, want %x", s, at, b, w[:len(b)])
			return false
		}
		at += 8
		return true
	})
	return s, err
}

// TestContent: no byte of a message can be another without notice.
func TestContent(t *testing.T) {
	s := stamp{kind: aMessage, owner: 3, life: 2, seq: 77, delivered: 70}
	b := make([]byte, 1003)
	s.fill(b)
	if got, err := read(b); err != nil || got.seq != 77 || got.tag() != s.tag() || got.size != 1003 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range b {
		b[i] ^= 4
		if _, err := read(b); err == nil {
			t.Errorf("byte %d is wrong, and nobody noticed", i)
		}
		b[i] ^= 4
	}
}
