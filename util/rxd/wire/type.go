package wire

import "strconv"

// Type is the type of a native packet.
type Type uint8

// The types of prov/rxd/src/rxd_proto.h (enum rxd_pkt_type). Missing numbers are reserved.
const (
	TypeMsg           Type = 0  // fi_msg(3)
	TypeTagged        Type = 1  // fi_tagged(3)
	TypeReadReq       Type = 2  // fi_read; answered by DATA_READ
	TypeWrite         Type = 4  // fi_write
	TypeAtomic        Type = 6  // fi_atomic(3)
	TypeAtomicFetch   Type = 7  // fi_fetch_atomic; answered by one DATA_READ
	TypeAtomicCompare Type = 8  // fi_compare_atomic; answered by one DATA_READ
	TypeRTS           Type = 9  // ready to send: asks a peer for a connection
	TypeCTS           Type = 10 // clear to send: answers RTS
	TypeAck           Type = 11
	TypeData          Type = 12 // further packets of an operation
	TypeDataRead      Type = 13 // answer to a read or a fetching atomic operation
)

var typeNames = [...]string{
	TypeMsg: "msg", TypeTagged: "tagged", TypeReadReq: "read_req", TypeWrite: "write", TypeAtomic: "atomic",
	TypeAtomicFetch: "atomic_fetch", TypeAtomicCompare: "atomic_compare",
	TypeRTS: "rts", TypeCTS: "cts", TypeAck: "ack", TypeData: "data", TypeDataRead: "data_read",
}

// Known reports whether the type is one of the constants.
func (t Type) Known() bool { return int(t) < len(typeNames) && typeNames[t] != "" }

// IsOp reports whether Op is the codec of packets of the type.
func (t Type) IsOp() bool { return t <= TypeAtomicCompare && t.Known() }

// HasRMA reports whether an operation of the type has RMA segments.
func (t Type) HasRMA() bool { return t >= TypeReadReq && t <= TypeAtomicCompare }

// HasAtom reports whether an operation of the type is atomic.
func (t Type) HasAtom() bool { return t >= TypeAtomic && t <= TypeAtomicCompare }

// Answered reports whether an operation of the type is answered by DATA_READ.
func (t Type) Answered() bool {
	return t == TypeReadReq || t == TypeAtomicFetch || t == TypeAtomicCompare
}

// String returns the name in lower case, or type(N) for an unknown one.
func (t Type) String() string {
	if t.Known() {
		return typeNames[t]
	}
	return "type(" + strconv.Itoa(int(t)) + ")"
}

// Flags are the flag bits of a native packet. Bits without a name are ignored, and kept when a parsed packet is
// encoded again.
type Flags uint16

// The flag bits. Native puts its private flags of the operation into packets, too; only the first three concern the
// receiver. DATA repeats FlagTag of its operation, without a tag.
const (
	FlagCQData Flags = 1 << 0 // has remote CQ data (FI_REMOTE_CQ_DATA)
	FlagTag    Flags = 1 << 4 // has a tag
	FlagInline Flags = 1 << 5 // the whole operation is in this packet, without SAR

	FlagNoTxComp  Flags = 1 << 1 // private: the sender wants no completion
	FlagNoRxComp  Flags = 1 << 2 // private
	FlagInject    Flags = 1 << 3 // private
	FlagMultiRecv Flags = 1 << 6 // private
)

// flagName is the name of a flag bit in text.
type flagName struct {
	bit  uint16
	name string
}

var flagNames = []flagName{
	{uint16(FlagCQData), "cq_data"}, {uint16(FlagNoTxComp), "no_tx_comp"}, {uint16(FlagNoRxComp), "no_rx_comp"},
	{uint16(FlagInject), "inject"}, {uint16(FlagTag), "tag"}, {uint16(FlagInline), "inline"},
	{uint16(FlagMultiRecv), "multi_recv"},
}

// String lists the flags, as in tag|inline|0x80; "0" if there is none.
func (f Flags) String() string { return listFlags(uint16(f), flagNames) }

// listFlags lists the set bits by their names, and the rest as a number.
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
