// Package wire is the codec of rxd, the reliable messages over datagrams that libfabric's fi_rxd(7) speaks: its packets of version 2, the block with
// which gofabric peers recognise each other in RTS and CTS, and the header of the datagrams that they exchange from then on. docs/wire/rxd.md describes
// formats and rules.
//
// The package holds no state, does no I/O and allocates nothing when it encodes (into a slice with room) or decodes. All functions are safe for
// concurrent use on different values. Every byte of input is checked before it is used: input from a hostile peer gives an error, never a panic.
// Payloads that Parse functions return point into the parsed bytes.
package wire

import "math"

import "encoding/binary"

var le = binary.LittleEndian

// Version is the first byte of every native packet.
const Version = 2

// Lengths in bytes unless said otherwise.
const (
	BaseLen = 16 // what all native packets begin with
	DataLen = 32 // header of DATA and DATA_READ
	AckLen  = 32
	RTSLen  = 88 // without what follows it: see Ext
	CTSLen  = 32 // likewise

	SourceLen = 64 // room for a socket address in RTS
	IOVLimit  = 4  // most remote segments of one operation

	MaxOpHeader = BaseLen + tagLen + cqDataLen + sarLen + IOVLimit*iovLen + atomLen

	tagLen    = 8
	cqDataLen = 8
	sarLen    = 24
	iovLen    = 24
	atomLen   = 8
)

// MaxDatagram is the largest datagram that native peers send and receive, in bytes, whatever the path would take.
const MaxDatagram = 4096

// MaxSize bounds message sizes that Op.Parse accepts, in bytes. Nobody has that much memory; the bound keeps sums of sizes from overflowing.
const MaxSize = min(1<<62, math.MaxInt-1<<16)

// SegmentLen returns how many bytes of payload every DATA and DATA_READ carries, except an operation's last, between peers whose datagrams have at
// most mtu bytes. Native receivers compute from it where a segment belongs: a sender has no choice.
func SegmentLen(mtu int) int { return min(mtu, MaxDatagram) - DataLen }
