package av

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/netip"
	"os"

	"gofabric/core"
)

// This file has the format of a shared vector's file.
//
// The file is read and written with system calls and never mapped: access to a mapping of a file that another process
// has truncated ends in SIGBUS (mmap(2)), while a read is only short. All numbers are little-endian. Every part has a
// checksum.
//
//	0     head: version and key of the vector; written once
//	128   state: generation, slots in use, whether a change is under way
//	4096  ring: the indices of the last changes; change n is at n modulo ringLen
//	8192  slots: one per index
const (
	fileMagic   = "gofab-AV"
	fileVersion = 1

	headLen  = 128
	stateAt  = headLen
	stateLen = 32
	ringAt   = 4096
	ringLen  = 1024
	slotsAt  = ringAt + 4*ringLen
	slotLen  = 64

	maxShared = 1 << 20 // largest number of addresses of a shared vector: a file of 64 MiB
	maxZone   = 32
)

var le = binary.LittleEndian

// sharedError describes the damage in a shared vector's file.
type sharedError struct{ what string }

func (e *sharedError) Error() string {
	return "the file of the shared address vector " + e.what + ": " + core.ErrIO.Error()
}
func (e *sharedError) Unwrap() error { return core.ErrIO }

// head is the constant part.
type head struct {
	key     [32]byte // hash of provider, domain and name
	format  core.AddrFormat
	mapAddr uint64
}

func sharedKey(scope, name string) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%d %s%s", len(scope), scope, name))
}

func (h *head) encode() []byte {
	b := make([]byte, headLen)
	copy(b, fileMagic)
	le.PutUint32(b[8:], fileVersion)
	le.PutUint32(b[12:], slotLen)
	le.PutUint32(b[16:], ringLen)
	le.PutUint32(b[20:], uint32(h.format))
	le.PutUint64(b[24:], h.mapAddr)
	copy(b[32:], h.key[:])
	return seal(b)
}

func (h *head) decode(b []byte) error {
	switch {
	case !bytes.HasPrefix(b, []byte(fileMagic)):
		return &sharedError{"is not the file of an address vector"}
	case le.Uint32(b[8:]) != fileVersion || le.Uint32(b[12:]) != slotLen || le.Uint32(b[16:]) != ringLen:
		return &sharedError{fmt.Sprintf("was made by another version of this module, format %d instead of %d", le.Uint32(b[8:]), fileVersion)}
	case !sealed(b):
		return &sharedError{"has a damaged header"}
	}
	h.format, h.mapAddr = core.AddrFormat(le.Uint32(b[20:])), le.Uint64(b[24:])
	copy(h.key[:], b[32:])
	return nil
}

// state changes with every insertion and removal.
type state struct {
	gen   uint64 // number of changes
	high  uint32 // number of slots that were ever used
	dirty bool   // a change is under way; if the lock is free, its process died during the change
}

func (s *state) encode(b []byte) []byte {
	b = b[:stateLen]
	clear(b)
	le.PutUint64(b, s.gen)
	le.PutUint32(b[8:], s.high)
	if s.dirty {
		b[12] = 1
	}
	return seal(b)
}

func (s *state) decode(b []byte) error {
	if !sealed(b) {
		return &sharedError{"has a damaged state"}
	}
	s.gen, s.high, s.dirty = le.Uint64(b), le.Uint32(b[8:]), b[12] != 0
	if s.high > maxShared {
		return &sharedError{"has more slots than an address vector can have"}
	}
	return nil
}

// slot is an address and the number of its insertions by all processes: 0 for a free slot.
type slot struct {
	ap   netip.AddrPort
	uses uint32
}

func (s *slot) encode(b []byte) []byte {
	b = b[:slotLen]
	clear(b)
	if s.uses > 0 {
		ip := s.ap.Addr().As16()
		copy(b, ip[:])
		le.PutUint16(b[16:], s.ap.Port())
		b[18] = 6
		if s.ap.Addr().Is4() {
			b[18] = 4
		}
		b[19] = byte(copy(b[24:24+maxZone], s.ap.Addr().Zone()))
		le.PutUint32(b[20:], s.uses)
	}
	return seal(b)
}

func (s *slot) decode(b []byte) error {
	if !sealed(b) || b[19] > maxZone {
		return &sharedError{"has a damaged slot"}
	}
	*s = slot{uses: le.Uint32(b[20:])}
	if s.uses == 0 {
		return nil
	}
	ip := netip.AddrFrom16([16]byte(b[:16]))
	switch {
	case b[18] == 4:
		ip = ip.Unmap()
	case b[19] > 0:
		ip = ip.WithZone(string(b[24 : 24+b[19]]))
	}
	s.ap = netip.AddrPortFrom(ip, le.Uint16(b[16:]))
	return nil
}

// seal writes the checksum to the last four bytes.
func seal(b []byte) []byte {
	le.PutUint32(b[len(b)-4:], crc32.ChecksumIEEE(b[:len(b)-4]))
	return b
}

func sealed(b []byte) bool { return le.Uint32(b[len(b)-4:]) == crc32.ChecksumIEEE(b[:len(b)-4]) }

// readAt fills b from r. A file that is too short is an error of its own.
func readAt(r *os.File, b []byte, at int64) error {
	switch n, err := r.ReadAt(b, at); {
	case n == len(b):
		return nil
	case err == io.EOF:
		return &sharedError{"has been cut short"}
	default:
		return fmt.Errorf("reading the file of the shared address vector: %w", err)
	}
}
