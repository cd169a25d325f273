// Package wire is the codec of rxd, libfabric's reliable datagrams over datagrams (fi_rxd(7)). It has native's
// packets of version 2, the extension block in RTS and CTS with which gofabric peers recognise each other, and the
// header of the datagrams that they exchange afterwards. docs/wire/rxd.md describes formats and rules.
//
//	type.go             types and flags of native packets
//	base.go             the header of all native packets
//	rts.go, sockaddr.go RTS and CTS
//	op.go, data.go      operations, their further packets, acknowledgements
//	ext.go              the extension block
//	xheader.go, crc.go  extension datagrams
//	string.go           packets as text, for logs and ofi dump
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

var le = binary.LittleEndian

// Version is the first byte of every native packet (RXD_PROTOCOL_VERSION, prov/rxd/src/rxd.h).
const Version = 2

// Lengths, in bytes unless said otherwise.
const (
	BaseLen = 16 // header of all native packets
	DataLen = 32 // header of DATA and DATA_READ
	AckLen  = 32
	RTSLen  = 88 // without the extension block that may follow
	CTSLen  = 32 // likewise

	SourceLen = 64 // the socket address in RTS
	IOVLimit  = 4  // most RMA segments of one operation (RXD_IOV_LIMIT)

	MaxOpHeader = BaseLen + tagLen + cqDataLen + sarLen + IOVLimit*iovLen + atomLen // longest header of an operation

	tagLen    = 8
	cqDataLen = 8
	sarLen    = 24
	iovLen    = 24
	atomLen   = 8
)

// MaxDatagram is the largest datagram that native peers send and receive, in bytes, even if the path carries more.
const MaxDatagram = 4096

// MaxSize limits the message sizes that Op.Parse accepts, in bytes. No machine has that much memory. The limit
// keeps sums of sizes from overflowing.
const MaxSize = min(1<<62, math.MaxInt-1<<16)

// SegmentLen returns the payload of every DATA and DATA_READ except the last of an operation, in bytes, between
// peers whose datagrams have at most mtu bytes. Native receivers compute the place of a segment from it, so the
// sender must use it.
func SegmentLen(mtu int) int { return min(mtu, MaxDatagram) - DataLen }
