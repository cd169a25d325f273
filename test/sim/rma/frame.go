package rma

import (
	"bytes"

	"gofabric/internal/xnet/wire"
)

// Kind is what a frame is.
type Kind byte

// The kinds of frames.
const (
	Message Kind = 'm'
	Read    Kind = 'r'
	Answer  Kind = 'a' // to a read
	Write   Kind = 'w'
	Ack     Kind = 'k' // of a message or write with Delivery
)

// Frame is what travels.
type Frame struct {
	Kind     Kind
	Conn     int
	Token    uint64 // of the end that has posted the operation
	Ranges   []wire.RMAIov
	Data     uint64
	HasData  bool
	Delivery bool
	Lent     bool // until Release
	Len      int  // of the payload

	parts [][]byte
	b     []byte
	have  bool
}

// Bytes copies what was lent, unless that has been done.
func (f *Frame) Bytes() []byte {
	if !f.have {
		f.b, f.parts, f.have = bytes.Join(f.parts, nil), nil, true
	}
	return f.b
}
