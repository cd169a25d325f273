package chaos

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// The content of a message follows from its name: the name determines the length and every byte.

// sizeMax is the length of the longest message in bytes.
const sizeMax = 4 << 20

// letter names a message. The name travels as tag or as remote CQ data, so that a message of one byte has one, too.
type letter struct {
	owner   uint8  // the sender
	life    uint16 // the sender's life
	channel uint8  // below 16; letters of a lane to one peer are in order
	seq     uint64 // from 1 on, below 1 << 36
}

func (l letter) word() uint64 {
	return uint64(l.owner)<<56 | uint64(l.life)<<40 | uint64(l.channel)<<36 | l.seq
}

func letterOf(w uint64) letter {
	return letter{uint8(w >> 56), uint16(w >> 40), uint8(w >> 36 & 15), w & (1<<36 - 1)}
}

func (l letter) String() string {
	return fmt.Sprintf("message %d.%d of %s life %d", l.channel, l.seq, nameOf(l.owner), l.life)
}

// mix is splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// size returns the length of a letter: mostly short, and at most most, which both ends know.
func (l letter) size(most int) int {
	x := mix(l.word())
	n := int(x >> 8 & (1<<40 - 1))
	switch k := x & 255; {
	case k < 8:
		n = 1
	case k < 100:
		n = 1 + n%128
	case k < 200:
		n = 1 + n%10_000
	case k < 250:
		n = 1 + n%100_000
	default:
		n = 1 + n%sizeMax
	}
	return min(n, most)
}

// fill writes the content of l.
func (l letter) fill(b []byte) { pour(b, mix(l.word()^0x6c6574746572)) }

// pour writes the bytes that follow from x.
func pour(b []byte, x uint64) {
	for ; len(b) >= 8; b = b[8:] {
		x = x*0xd1342543de82ef95 + 0x9e3779b97f4a7c15
		binary.LittleEndian.PutUint64(b, x^x>>32)
	}
	x = x*0xd1342543de82ef95 + 0x9e3779b97f4a7c15
	for i := range b {
		b[i] = byte((x ^ x>>32) >> (8 * i))
	}
}

// differs returns the first index where b differs from what pour makes of x, -1 if there is none.
func differs(b []byte, x uint64) int {
	at := 0
	for ; len(b) >= 8; b, at = b[8:], at+8 {
		x = x*0xd1342543de82ef95 + 0x9e3779b97f4a7c15
		if binary.LittleEndian.Uint64(b) != x^x>>32 {
			return at
		}
	}
	x = x*0xd1342543de82ef95 + 0x9e3779b97f4a7c15
	for i := range b {
		if b[i] != byte((x^x>>32)>>(8*i)) {
			return at + i
		}
	}
	return -1
}

// check returns what is wrong with b as the content of l, "" if nothing is.
func (l letter) check(b []byte, most int) string {
	if n := l.size(most); len(b) != n {
		return fmt.Sprintf("%v has %d bytes, want %d", l, len(b), n)
	}
	if at := differs(b, mix(l.word()^0x6c6574746572)); at >= 0 {
		return fmt.Sprintf("%v of %d bytes is wrong from byte %d on: %x", l, len(b), at, b[at:min(len(b), at+16)])
	}
	return ""
}

// Fill patterns of buffers that belong to the application. No message has this content.
const (
	scribbleTx = 0x5a
	scribbleRx = 0xa5
)

// scribble overwrites a buffer that was handed back.
func scribble(b []byte, with byte) {
	if len(b) == 0 {
		return
	}
	b[0] = with
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// scribbled reports whether b is as scribble left it.
func scribbled(b []byte, with byte) bool {
	for ; len(b) > 0 && len(b)%8 != 0; b = b[1:] {
		if b[0] != with {
			return false
		}
	}
	for want := uint64(with) * 0x0101010101010101; len(b) > 0; b = b[8:] {
		if binary.LittleEndian.Uint64(b) != want {
			return false
		}
	}
	return true
}

// nameOf returns the name of an owner for reports.
func nameOf(owner uint8) string {
	switch owner {
	case serverOwner:
		return "the server"
	case clientOwner:
		return "client"
	case nativeOwner:
		return "native peer"
	}
	return fmt.Sprintf("node %d", owner)
}

// Owners that are not nodes.
const (
	serverOwner = 100
	clientOwner = 101
	nativeOwner = 102
)

// TestContent checks that any changed byte of a message is noticed, and that no message has the content of another.
func TestContent(t *testing.T) {
	l := letter{owner: 3, life: 2, channel: 1, seq: 77}
	if got := letterOf(l.word()); got != l {
		t.Fatalf("%v, want %v", got, l)
	}
	for l.size(sizeMax) < 1000 || l.size(sizeMax) > 5000 {
		l.seq++
	}
	b := make([]byte, l.size(sizeMax))
	l.fill(b)
	if text := l.check(b, sizeMax); text != "" {
		t.Fatal(text)
	}
	for i := range b {
		b[i] ^= 4
		if l.check(b, sizeMax) == "" {
			t.Errorf("byte %d is wrong, and check did not notice", i)
		}
		b[i] ^= 4
	}
	if l.check(b[1:], sizeMax) == "" {
		t.Error("a byte is missing, and check did not notice")
	}
	scribble(b, scribbleRx)
	if !scribbled(b, scribbleRx) || l.check(b, sizeMax) == "" {
		t.Error("scribbled does not recognize what scribble wrote")
	}
	for _, i := range []int{0, len(b) / 2, len(b) - 1} {
		b[i]++
		if scribbled(b, scribbleRx) {
			t.Errorf("byte %d of a scribbled buffer is wrong, and scribbled did not notice", i)
		}
		b[i]--
	}
}
