// Package wire is the codec of libfabric's "xnet" format, which the tcp provider uses (prov/tcp of libfabric): the
// connection management message that opens every stream, the data that RDM endpoints put into it, and the header of
// every transfer. docs/wire/tcp.md describes the format and its rules.
//
//	cm.go, rdmblob.go    connection management
//	header.go, op.go, flags.go, decode.go, order.go    transfers
//	ext.go, ref.go, verdict.go    messages that only gofabric peers exchange
//	string.go            headers as text, for logs and ofi dump
//
// The package has no state, does no I/O and allocates nothing when it encodes or decodes. All functions are safe
// for concurrent use on different values. Every byte of input is checked before it is used: input from a hostile
// peer gives an error, never a panic.
package wire

import "math"

// Versions on the wire.
const (
	Version        = 3    // version byte of every transfer header
	CMVersion      = 3    // version byte of a connection management message
	RDMVersion     = 1    // newest RDM protocol: tagged rendezvous
	RDMVersionFlag = 0x80 // set in an answer: this peer checks versions
)

// Sizes on the wire, in bytes unless said otherwise.
const (
	BaseLen     = 16  // the part that all headers share
	MaxHeader   = 120 // a write with remote CQ data and IOVLimit segments
	MaxCMData   = 256 // private data of a connection request or its answer
	CMHeaderLen = 32  // connection management message without private data
	IOVLimit    = 4   // most segments of one remote read or write
	RDMBlobLen  = 8   // RDM blob in the private data
)

// MaxAtomic is the most bytes of operands of one atomic operation.
const MaxAtomic = 64 << 10

// AtomicRead is the number of FI_ATOMIC_READ (enum fi_op), which has no operands.
const AtomicRead = 10

// MaxSize limits the message sizes that Decode accepts, in bytes. No machine has that much memory. The limit keeps
// sums of sizes from overflowing.
const MaxSize = min(1<<62, math.MaxInt)

// OpDataAck in OpData of an OpMsg header of 16 bytes marks an acknowledgement.
const OpDataAck = 2

// Parts of headers, in bytes.
const (
	wordLen = 8           // CQ data, tag and message size are one word each
	iovLen  = 3 * wordLen // address, length, key
)
