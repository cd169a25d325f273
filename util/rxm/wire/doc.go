// Package wire is the codec of rxm, libfabric's reliable datagrams over connections (fi_rxm(7)). It has the private
// data of connection requests and answers (cm.go), and the packets that are messages of a connection (packet.go,
// type.go). docs/wire/rxm.md describes formats and rules; native's are in prov/rxm/src/rxm.h and
// include/ofi_proto.h of libfabric.
//
// The package has no state, does no I/O and allocates nothing when it encodes (into a slice with room) or decodes.
// All functions are safe for concurrent use on different values. Every byte of input is checked before it is used:
// input from a hostile peer gives an error, never a panic. Payloads that Parse functions return are parts of the
// parsed slice.
package wire

import (
	"encoding/binary"
	"math"
)

// Numbers are little-endian, except in the answer to an atomic operation.
var (
	le = binary.LittleEndian
	be = binary.BigEndian
)

// Versions. libfabric 1.17 and 2.6 have these and refuse others. The connect data names the versions of the control
// and the operation header, and packets have them again.
const (
	CMVersion   = 1 // of the connect data
	CtrlVersion = 4 // of the control header, in the connect data and in packets
	OpVersion   = 3 // of the operation header, in the connect data
	OpHdrByte   = 2 // of the operation header, in packets
)

// Lengths, in bytes unless said otherwise.
const (
	HeaderLen = 64 // control header and operation header
	RangeLen  = 24 // a memory range
	RangesMax = 4  // ranges (RXM_IOV_LIMIT)
	// Behind the headers of a rendezvous: room for all ranges, their number, padding.
	RndvLen    = RangesMax*RangeLen + 8
	AtomicLen  = RangesMax * RangeLen // behind the headers of an atomic operation: room for all ranges
	ResultLen  = 8                    // status and length before the result of an atomic operation
	MaxHeader  = HeaderLen + RndvLen  // the longest headers
	BufferSize = 16 << 10             // default of FI_OFI_RXM_BUFFER_SIZE: the most payload of a packet
	SegmentMax = 1<<16 - 1            // the most that the length field of a segment holds
	ConnectLen = 24
	AcceptLen  = 16
	RejectLen  = 2
)

// MaxSize limits the message sizes that Parse accepts, in bytes. No machine has that much memory. The limit keeps
// sums of sizes from overflowing.
const MaxSize = min(1<<61, math.MaxInt-1<<16)
