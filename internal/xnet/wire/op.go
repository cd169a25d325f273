package wire

import "strconv"

// Op is the operation in a transfer header.
type Op uint8

// The operations. OpTagRTS, OpCTS and OpData need RDM protocol version 1.
const (
	OpMsg     Op = iota // untagged message, or an acknowledgement (OpDataAck)
	OpTag               // tagged message
	OpReadReq           // please send these segments
	OpReadRsp           // the data of the oldest unanswered OpReadReq
	OpWrite             // data for these segments
	OpTagRTS            // tagged message that waits for its receiver
	OpCTS               // answer to OpTagRTS: send it now
	OpData              // the payload announced by OpTagRTS
)

// The operations that only gofabric knows. They are sent to peers only that
// have said so; native closes the connection.
const (
	OpAtomic        Op = iota + 32 // operands for these segments (fi_atomic(3))
	OpAtomicFetch                  // the same, and please send what was there
	OpAtomicCompare                // operands, then what to compare with
	OpAtomicRsp                    // what was there, for the oldest unanswered request
)

// The operations of small messages that share a header: OpData and IovCnt are the number of messages, little-endian, which share the payload equally.
const (
	OpCoalesced    Op = iota + 0x31 // untagged
	OpTagCoalesced                  // all with one tag
)

// OpContext says that the messages and accesses that follow are for receive context OpData of the peer's endpoint (fi_rx_addr, fi_av(3)); a connection
// begins with context 0. It has no payload.
const OpContext Op = 0x33

// OpColl is a step of a collective operation (fi_collective(3)): a message that the posted receives of the application do not see. Tag says which step it is,
// CQData which member it comes from; both are always there.
const OpColl Op = 0x38

// Bits of an OpColl.
const (
	CollGroup = 32      // of Tag: where the number of the group begins
	CollJoin  = 1 << 63 // of Tag: about joining a group
	CollAbort = 1 << 63 // of CQData: the sender has given the group up; there is no payload. The sender is in bits 0 to 31, the reason, an errno, in bits 32 to 47
)

// MaxCoalesced is the most messages that share a header.
const MaxCoalesced = 1<<16 - 1

// atomic reports whether o is one of them that names segments.
func (o Op) atomic() bool { return o-OpAtomic <= OpAtomicCompare-OpAtomic }

var opNames = [...]string{"msg", "tag", "read_req", "read_rsp", "write", "tag_rts", "cts", "data",
	OpAtomic: "atomic", OpAtomicFetch: "atomic_fetch", OpAtomicCompare: "atomic_cmp", OpAtomicRsp: "atomic_rsp"}

// String is the operation's name, or op(N) for an unknown one.
func (o Op) String() string {
	switch o {
	case OpExt:
		return "ext"
	case OpColl:
		return "coll"
	case OpCoalesced:
		return "coalesced"
	case OpTagCoalesced:
		return "tag_coalesced"
	case OpContext:
		return "context"
	}
	if int(o) < len(opNames) && opNames[o] != "" {
		return opNames[o]
	}
	return "op(" + strconv.Itoa(int(o)) + ")"
}
