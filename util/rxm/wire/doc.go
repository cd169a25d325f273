// Package wire is the codec of rxm, the reliable messages to any peer over connections that libfabric's fi_rxm(7) speaks: what endpoints tell each other
// when they connect, and the packets that travel as messages of the connection. docs/wire/rxm.md describes formats and rules.
//
// The package holds no state, does no I/O and allocates nothing when it encodes (into a slice with room) or decodes. All functions are safe for
// concurrent use on different values. Every byte of input is checked before it is used: input from a hostile peer gives an error, never a panic.
// Payloads that Parse functions return point into the parsed bytes.
package wire

import "math"

import "encoding/binary"

var (
	le = binary.LittleEndian
	be = binary.BigEndian
)

// The versions that libfabric 1.17 and 2.6 have and demand: of the connect data, of control header and operation header as the connect data names them, and
// in the headers themselves.
const (
	CMVersion   = 1
	CtrlVersion = 4 // in both places
	OpVersion   = 3
	OpHdrByte   = 2
)

// Lengths, bytes.
const (
	HeaderLen  = 64                     // control header and operation header
	RangeLen   = 24                     // a range of memory
	RangesMax  = 4                      // RXM_IOV_LIMIT
	RndvLen    = RangesMax*RangeLen + 8 // ranges of a rendezvous: always room for all, their number, padding
	AtomicLen  = RangesMax * RangeLen   // ranges of an atomic operation: always room for all
	ResultLen  = 8                      // status and length before the result of an atomic operation
	MaxHeader  = HeaderLen + RndvLen    // the longest that is not payload
	BufferSize = 16 << 10               // FI_OFI_RXM_BUFFER_SIZE by default: the most payload of a packet
	SegmentMax = 1<<16 - 1              // what a segment's length field holds
	ConnectLen = 24
	AcceptLen  = 16
	RejectLen  = 2
)

// MaxSize bounds the sizes of messages that Parse accepts, bytes. Nobody has that much memory; the bound keeps sums from overflowing.
const MaxSize = min(1<<61, math.MaxInt-1<<16)
