package wire

import "strconv"

// Type says what a packet is for.
type Type uint8

// The types of packets.
const (
	TypeEager      Type = iota // a message
	TypeSegment                // part of a message
	TypeRndvReq                // a message that waits in its sender's memory
	TypeReadDone               // the receiver has read it
	TypeAtomic                 // an atomic operation
	TypeAtomicResp             // its result
	TypeCredit                 // so many more receives are posted
	TypeWriteData              // the receiver's memory, where the sender is to write the message
	TypeWriteDone              // the sender has written it
)

var typeNames = [...]string{"eager", "segment", "rndv_req", "read_done", "atomic", "atomic_resp", "credit", "write_data", "write_done"}

// String is the name in lower case, or type(N) for an unknown one.
func (t Type) String() string { return name(typeNames[:], "type", uint8(t)) }

// Op is the operation that a packet serves.
type Op uint8

// The operations. OpCredit stands in credit packets, where native puts the packet's type.
const (
	OpMsg           Op = 0
	OpTagged        Op = 1
	OpAtomic        Op = 6
	OpAtomicFetch   Op = 7
	OpAtomicCompare Op = 8
	OpCredit           = Op(TypeCredit)
)

var opNames = [...]string{"msg", "tagged", "op(2)", "op(3)", "op(4)", "op(5)", "atomic", "atomic_fetch", "atomic_cmp"}

// String is the name in lower case, or op(N) for an unknown one.
func (o Op) String() string { return name(opNames[:], "op", uint8(o)) }

func name(names []string, what string, n uint8) string {
	if int(n) < len(names) {
		return names[n]
	}
	return what + "(" + strconv.Itoa(int(n)) + ")"
}

// Part says which segment of a message a packet is.
type Part uint8

// The parts. A message of one segment is TypeEager instead.
const (
	First  Part = 1
	Middle Part = 2
	Last   Part = 3
)

var partNames = [...]string{"part(0)", "first", "middle", "last"}

// String is the name in lower case.
func (p Part) String() string { return partNames[p&3] }
