package wire

import "strconv"

// Type is the type of a packet (rxm_ctrl_eager and others in prov/rxm/src/rxm.h).
type Type uint8

// The types of packets.
const (
	TypeEager      Type = iota // a message
	TypeSegment                // a part of a message
	TypeRndvReq                // announces a message that stays in its sender's memory
	TypeReadDone               // the receiver has read it
	TypeAtomic                 // an atomic operation
	TypeAtomicResp             // its result
	TypeCredit                 // number of further receives posted
	TypeWriteData              // the receiver's memory, where the sender shall write the message
	TypeWriteDone              // the sender has written it
)

var typeNames = [...]string{
	"eager", "segment", "rndv_req", "read_done", "atomic", "atomic_resp", "credit", "write_data", "write_done",
}

// String returns the name in lower case, or type(N) for an unknown one.
func (t Type) String() string { return name(typeNames[:], "type", uint8(t)) }

// Op is the operation that a packet belongs to (ofi_op_msg and others in include/ofi_proto.h).
type Op uint8

// The operations. OpCredit is in credit packets, where native puts the packet's type.
const (
	OpMsg           Op = 0
	OpTagged        Op = 1
	OpAtomic        Op = 6
	OpAtomicFetch   Op = 7
	OpAtomicCompare Op = 8
	OpCredit           = Op(TypeCredit)
)

var opNames = [...]string{"msg", "tagged", "op(2)", "op(3)", "op(4)", "op(5)", "atomic", "atomic_fetch", "atomic_cmp"}

// String returns the name in lower case, or op(N) for an unknown one.
func (o Op) String() string { return name(opNames[:], "op", uint8(o)) }

// name returns the n-th name, or kind(n).
func name(names []string, kind string, n uint8) string {
	if int(n) < len(names) {
		return names[n]
	}
	return kind + "(" + strconv.Itoa(int(n)) + ")"
}

// Part says which segment of a message a packet is: the first, the last or another (enum rxm_sar_seg_type).
type Part uint8

// The parts. A message of one segment is an eager packet instead.
const (
	First  Part = 1
	Middle Part = 2
	Last   Part = 3
)

var partNames = [...]string{"part(0)", "first", "middle", "last"}

// String returns the name in lower case.
func (p Part) String() string { return partNames[p&3] }
