package cma

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// This file has a model of the seal. One sender lends a buffer, takes it back, writes other data into it and lends it
// again. One receiver copies the first message. Every store and every load is a step, and the test tries every order
// of the steps that keeps each side's own order. Decision record 0023-seals.md says which order compiler, processor
// and kernel keep within a side.
//
// Each variant breaks one rule. The test must then find a message that is delivered and differs from what was sent.
// Otherwise it could not find one in the real order either.

const (
	modelWords     = 2 // of payload
	modelChallenge = 0x1122334455667788
)

// modelMemory is the memory that the sender stores to and the receiver loads from.
type modelMemory struct {
	payload           [modelWords]int // number of the message that each word belongs to
	challenge, number uint64          // the slot
	announced         bool            // the receiver has received the announcement of the first message
}

// modelCopy is the data that the receiver has loaded.
type modelCopy struct {
	payload   [modelWords]int
	challenge uint64
	number    [8]byte
}

// rules are the rules of the protocol that variants break.
type rules struct {
	looksFirst   bool // the receiver reads the seal before it copies
	breaksLate   bool // the sender breaks the seal after it has written to the buffer
	brokenIsZero bool // a broken seal holds 0 instead of its own number
	numberAgain  bool // the second message has the number of the first
}

type (
	store func(m *modelMemory)
	load  func(m *modelMemory, c *modelCopy)
)

// sender returns the stores of a sender. Its first message has the number n, and its second one the number next.
func (r *rules) sender(n, next uint64) []store {
	broken := n | 1
	if r.brokenIsZero {
		broken = 0
	}
	if r.numberAgain {
		next = n
	}
	write := func(message int) (s []store) {
		for i := range modelWords {
			s = append(s, func(m *modelMemory) { m.payload[i] = message })
		}
		return s
	}
	seal := func(n uint64) []store {
		return []store{func(m *modelMemory) { m.challenge = modelChallenge }, func(m *modelMemory) { m.number = n }}
	}
	announce := []store{func(m *modelMemory) { m.announced = true }}
	unseal := []store{func(m *modelMemory) { m.number = broken }}
	var s []store
	add := func(parts ...[]store) {
		for _, p := range parts {
			s = append(s, p...)
		}
	}
	add(write(1))
	add(seal(n), announce)
	if r.breaksLate {
		add(write(2), unseal)
	} else {
		add(unseal, write(2))
	}
	add(seal(next))
	return s
}

// receiver returns the loads of a receiver. It loads the number byte by byte from the lowest address on, as
// process_vm_readv(2) does not promise more.
func (r *rules) receiver() []load {
	var copies, looks []load
	for i := range modelWords {
		copies = append(copies, func(m *modelMemory, c *modelCopy) { c.payload[i] = m.payload[i] })
	}
	looks = append(looks, func(m *modelMemory, c *modelCopy) { c.challenge = m.challenge })
	for i := range 8 {
		looks = append(looks, func(m *modelMemory, c *modelCopy) { c.number[i] = byte(m.number >> (8 * i)) })
	}
	if r.looksFirst {
		return append(looks, copies...)
	}
	return append(copies, looks...)
}

// outcome counts the results for the first message.
type outcome struct{ orders, delivered, altered int }

// explore tries every order of the remaining stores and loads. The receiver begins after the announcement.
func explore(m modelMemory, c modelCopy, stores []store, loads []load, n uint64, o *outcome) {
	if len(loads) == 0 {
		o.orders++
		if c.challenge == modelChallenge && binary.LittleEndian.Uint64(c.number[:]) == n {
			o.delivered++
			if c.payload != [modelWords]int{1, 1} {
				o.altered++
			}
		}
		return
	}
	if m.announced {
		c2 := c
		loads[0](&m, &c2)
		explore(m, c2, stores, loads[1:], n, o)
	}
	if len(stores) > 0 {
		stores[0](&m)
		explore(m, c, stores[1:], loads, n, o)
	}
}

// numbers are pairs of a message's number and the next number in the slot, with and without carries from byte to
// byte. With the pair 0x200, 0x202 a broken seal of 0 would allow a mixture of bytes that is a valid number.
var numbers = [][2]uint64{{2, 4}, {0x200, 0x202}, {0xfe, 0x100}, {0xfffe, 0x10000}, {0x100, 0x1fe}, {0x1fe, 0x300},
	{0x1fffe, 0x20100}}

func (r *rules) all() (o outcome) {
	for _, n := range numbers {
		explore(modelMemory{}, modelCopy{}, r.sender(n[0], n[1]), r.receiver(), n[0], &o)
	}
	return o
}

// TestModel: no order of the steps delivers anything but the announced message.
func TestModel(t *testing.T) {
	var r rules
	o := r.all()
	t.Logf("%d orders, %d deliver", o.orders, o.delivered)
	if o.altered != 0 || o.delivered == 0 || o.delivered == o.orders {
		t.Errorf("%+v", o)
	}
	// The slot of the model is the real one.
	var s seals
	var challenge [16]byte
	binary.NativeEndian.PutUint64(challenge[:], modelChallenge)
	n, _ := s.Set(7, &challenge)
	if s[7].challenge.Load() != modelChallenge || little(s[7].number.Load()) != n || n&1 != 0 {
		t.Errorf("Set leaves %#x, %#x", s[7].challenge.Load(), s[7].number.Load())
	}
	if s.Break(7); little(s[7].number.Load()) != n|1 {
		t.Errorf("Break leaves %#x of %#x", little(s[7].number.Load()), n)
	}
}

// TestModelNotices: a sender or receiver that breaks a rule delivers another message in some order.
func TestModelNotices(t *testing.T) {
	for _, r := range []rules{{looksFirst: true}, {breaksLate: true}, {brokenIsZero: true}, {numberAgain: true}} {
		t.Run(fmt.Sprintf("%+v", r), func(t *testing.T) {
			if o := r.all(); o.altered == 0 {
				t.Errorf("nothing is altered: %+v", o)
			}
		})
	}
}
