package wire

import "strconv"

// Type is the type of a native packet.
type Type uint8

// The types. Numbers that are missing are reserved.
const (
	TypeMsg           Type = 0  // fi_msg(3)
	TypeTagged        Type = 1  // fi_tagged(3)
	TypeReadReq       Type = 2  // fi_read: asks for DATA_READ
	TypeWrite         Type = 4  // fi_write
	TypeAtomic        Type = 6  // fi_atomic(3)
	TypeAtomicFetch   Type = 7  // fi_fetch_atomic: asks for one DATA_READ
	TypeAtomicCompare Type = 8  // fi_compare_atomic: likewise
	TypeRTS           Type = 9  // ready to send: opens the way to a peer
	TypeCTS           Type = 10 // clear to send: answers RTS
	TypeAck           Type = 11
	TypeData          Type = 12 // further segments of an operation
	TypeDataRead      Type = 13 // answer to a read or fetching atomic
)

var typeNames = [...]string{TypeMsg: "msg", TypeTagged: "tagged", TypeReadReq: "read_req", TypeWrite: "write", TypeAtomic: "atomic",
	TypeAtomicFetch: "atomic_fetch", TypeAtomicCompare: "atomic_compare", TypeRTS: "rts", TypeCTS: "cts", TypeAck: "ack", TypeData: "data",
	TypeDataRead: "data_read"}

// Known reports whether the type is one of the above.
func (t Type) Known() bool { return int(t) < len(typeNames) && typeNames[t] != "" }

// IsOp reports whether packets of the type are for Op.
func (t Type) IsOp() bool { return t <= TypeAtomicCompare && t.Known() }

// HasRMA reports whether an operation names remote memory.
func (t Type) HasRMA() bool { return t >= TypeReadReq && t <= TypeAtomicCompare }

// HasAtom reports whether an operation is atomic.
func (t Type) HasAtom() bool { return t >= TypeAtomic && t <= TypeAtomicCompare }

// Answered reports whether an operation is answered by DATA_READ.
func (t Type) Answered() bool {
	return t == TypeReadReq || t == TypeAtomicFetch || t == TypeAtomicCompare
}

// String is the name in lower case, or type(N) for an unknown one.
func (t Type) String() string {
	if t.Known() {
		return typeNames[t]
	}
	return "type(" + strconv.Itoa(int(t)) + ")"
}

// Flags are the flag bits of a native packet. Bits without a name are ignored, and kept when a parsed packet is encoded again.
type Flags uint16

// The flag bits. Native puts its own flags of the operation on the wire; three of them concern the receiver. DATA carries FlagTag too, as an echo of
// its operation's.
const (
	FlagCQData Flags = 1 << 0 // carries remote CQ data (FI_REMOTE_CQ_DATA)
	FlagTag    Flags = 1 << 4 // carries a tag
	FlagInline Flags = 1 << 5 // the whole operation is in this packet, without SAR

	FlagNoTxComp  Flags = 1 << 1 // the sender wants no completion; nothing to the receiver
	FlagNoRxComp  Flags = 1 << 2
	FlagInject    Flags = 1 << 3 // likewise
	FlagMultiRecv Flags = 1 << 6
)

type flagName struct {
	bit  uint16
	name string
}

var flagNames = []flagName{{uint16(FlagCQData), "cq_data"}, {uint16(FlagNoTxComp), "no_tx_comp"}, {uint16(FlagNoRxComp), "no_rx_comp"},
	{uint16(FlagInject), "inject"}, {uint16(FlagTag), "tag"}, {uint16(FlagInline), "inline"}, {uint16(FlagMultiRecv), "multi_recv"}}

// String lists the flags, as in tag|inline|0x80; "0" when none is set.
func (f Flags) String() string { return listFlags(uint16(f), flagNames) }

func listFlags(f uint16, names []flagName) string {
	if f == 0 {
		return "0"
	}
	var s string
	for _, n := range names {
		if f&n.bit != 0 {
			s += "|" + n.name
			f &^= n.bit
		}
	}
	if f != 0 {
		s += "|0x" + strconv.FormatUint(uint64(f), 16)
	}
	return s[1:]
}
