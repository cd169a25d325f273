package rma

import (
	"bytes"

	"gofabric/internal/xnet/wire"
)

// Kind is the kind of a frame.
type Kind byte

// The kinds of frames.
const (
	Message Kind = 'm'
	Read    Kind = 'r'
	Answer  Kind = 'a' // of a read
	Write   Kind = 'w'
	Ack     Kind = 'k' // of a message or write with Delivery
)

// Frame is a frame of the connection.
type Frame struct {
	Kind     Kind
	Conn     int
	Token    uint64 // chosen by the end that has posted the operation
	Ranges   []wire.RMAIov
	Data     uint64
	HasData  bool
	Delivery bool
	Lent     bool // the payload is lent until Release
	Len      int  // of the payload

	parts [][]byte
	b     []byte
	have  bool
}

// Bytes returns the payload. It copies a lent payload once.
func (f *Frame) Bytes() []byte {
	if !f.have {
		f.b, f.parts, f.have = bytes.Join(f.parts, nil), nil, true
	}
	return f.b
}
