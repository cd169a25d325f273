package wire

import "strconv"

// Op is the operation in a transfer header.
type Op uint8

// The operations of native. OpTagRTS, OpCTS and OpData need RDM protocol version 1.
const (
	OpMsg     Op = iota // untagged message, or an acknowledgement (OpDataAck)
	OpTag               // tagged message
	OpReadReq           // asks for the data of these segments
	OpReadRsp           // data of the oldest OpReadReq without an answer
	OpWrite             // data for these segments
	OpTagRTS            // announces a tagged message that waits at its sender
	OpCTS               // asks for the payload of an OpTagRTS
	OpData              // the payload
)

// The operations of gofabric. They are sent only to peers that have announced FeatureExtended; native would close
// the connection.
const (
	OpAtomic        Op = iota + 32 // operands for these segments (fi_atomic(3))
	OpAtomicFetch                  // the same, and returns the previous values
	OpAtomicCompare                // operands, then comparands; returns the previous values
	OpAtomicRsp                    // previous values, for the oldest request without an answer
)

// Small messages that share a header. OpData and IovCnt are the number of messages, little-endian, among which the
// payload is divided equally.
const (
	OpCoalesced    Op = iota + 0x31 // untagged
	OpTagCoalesced                  // all with one tag
)

// OpContext directs the messages and accesses behind it to receive context OpData of the peer's endpoint
// (fi_rx_addr, fi_av(3)). A connection begins with context 0. It has no payload.
const OpContext Op = 0x33

// OpColl is a step of a collective operation (fi_collective(3)), a message that the application's receives do not
// match. Tag is the step and CQData the member that it comes from. Both are always there.
const OpColl Op = 0x38

// Bits of an OpColl.
const (
	// Of Tag: the lowest bit of the number of the group.
	CollGroup = 32
	// Of Tag: the step belongs to joining a group.
	CollJoin = 1 << 63
	// Of CQData: the sender has given up the group. There is no payload. Bits 0 to 31 are the sender, bits 32 to 47
	// the reason, an errno.
	CollAbort = 1 << 63
)

// MaxCoalesced is the most messages that share a header.
const MaxCoalesced = 1<<16 - 1

// atomic reports whether o is an atomic operation with segments.
func (o Op) atomic() bool { return o-OpAtomic <= OpAtomicCompare-OpAtomic }

var opNames = [...]string{"msg", "tag", "read_req", "read_rsp", "write", "tag_rts", "cts", "data",
	OpAtomic: "atomic", OpAtomicFetch: "atomic_fetch", OpAtomicCompare: "atomic_cmp", OpAtomicRsp: "atomic_rsp"}

// String returns the operation's name, or op(N) for an unknown one.
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
