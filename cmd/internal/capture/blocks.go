package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// This file stands between a pcapng file and gopacket, which trusts the lengths in it.

// Types of blocks (draft-ietf-opsawg-pcapng).
const (
	blockSection   = 0x0A0D0D0A
	blockInterface = 1
	blockPacket    = 2 // obsolete
	blockSimple    = 3
	blockEnhanced  = 6

	byteOrderMagic = 0x1A2B3C4D
	blockFraming   = 12 // type, length, and the length again at the end
	packetFixed    = 20 // the fixed fields of an enhanced packet block
	maxBlock       = maxFrame + 1<<16
)

// blocks passes on whole, plausible blocks.
type blocks struct {
	r     io.Reader
	order binary.ByteOrder
	buf   []byte // room for a block
	rest  []byte // of the current block
	err   error
}

func (b *blocks) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.err == nil {
			b.err = b.load()
		}
		if b.err != nil {
			return 0, b.err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// load reads and checks the next block.
func (b *blocks) load() error {
	var head [blockFraming]byte
	if n, err := io.ReadFull(b.r, head[:]); err != nil {
		if n > 0 {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	if binary.LittleEndian.Uint32(head[:]) == blockSection {
		switch uint32(byteOrderMagic) {
		case binary.LittleEndian.Uint32(head[8:]):
			b.order = binary.LittleEndian
		case binary.BigEndian.Uint32(head[8:]):
			b.order = binary.BigEndian
		default:
			return errors.New("capture: a section of unknown byte order")
		}
	}
	if b.order == nil {
		return errors.New("capture: the file does not begin with a section")
	}
	size := b.order.Uint32(head[4:])
	if size < blockFraming || size%4 != 0 || size > maxBlock {
		return fmt.Errorf("capture: damaged file: a block of %d bytes", size)
	}
	if cap(b.buf) < int(size) {
		b.buf = make([]byte, size)
	}
	b.buf = b.buf[:size]
	copy(b.buf, head[:])
	if _, err := io.ReadFull(b.r, b.buf[blockFraming:]); err != nil {
		return io.ErrUnexpectedEOF
	}
	if end := b.order.Uint32(b.buf[size-4:]); end != size {
		return fmt.Errorf("capture: damaged file: a block of %d bytes ends as one of %d", size, end)
	}
	b.rest = b.buf
	return b.check(b.order.Uint32(head[:]), b.buf[8:size-4])
}

// check looks at the lengths within a block.
func (b *blocks) check(kind uint32, body []byte) error {
	switch kind {
	case blockEnhanced, blockPacket:
		if len(body) < packetFixed || uint64(b.order.Uint32(body[12:])) > uint64(len(body)-packetFixed) {
			return fmt.Errorf("capture: damaged file: a packet does not fit its block of %d bytes", len(body))
		}
	case blockSimple:
		if len(body) < 4 || b.order.Uint32(body) > maxFrame {
			return errors.New("capture: damaged file: a simple packet block of impossible size")
		}
	case blockInterface:
		if len(body) < 8 {
			return errors.New("capture: damaged file: a short interface block")
		}
		b.order.PutUint16(body, uint16(shortLink(uint32(b.order.Uint16(body)))))
	}
	return nil
}
