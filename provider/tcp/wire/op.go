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

var opNames = [...]string{"msg", "tag", "read_req", "read_rsp", "write", "tag_rts", "cts", "data"}

// String is the operation's name, or op(N) for an unknown one.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "op(" + strconv.Itoa(int(o)) + ")"
}
