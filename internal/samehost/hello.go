package samehost

import (
	"encoding/binary"

	"gofabric/internal/shm"
)

// The hello is the first message on a connection. Numbers are little-endian.
//
//	 0  magic, 8 bytes
//	 8  u32 version
//	12  u32 bytes of the memory whose descriptor comes with the message (SCM_RIGHTS, unix(7)); 0: none
//	16  the service's part, of a length that the service fixes
const (
	helloMagic   = "gofabric"
	helloVersion = 2 // also part of Name
	helloHead    = 16
	// BodyMax is the longest part of a service, in bytes.
	BodyMax = 64
)

// appendHello appends a hello to b.
func appendHello(b, body []byte, memory bool) []byte {
	size := uint32(0)
	if memory {
		size = shm.Size
	}
	b = append(b, helloMagic...)
	b = binary.LittleEndian.AppendUint32(b, helloVersion)
	b = binary.LittleEndian.AppendUint32(b, size)
	return append(b, body...)
}

// parseHello returns the service's part of a hello, which has bodyLen bytes, and whether memory comes with the
// hello.
func parseHello(b []byte, bodyLen int) (body []byte, memory, ok bool) {
	if len(b) != helloHead+bodyLen || string(b[:8]) != helloMagic || binary.LittleEndian.Uint32(b[8:]) != helloVersion {
		return nil, false, false
	}
	size := binary.LittleEndian.Uint32(b[12:])
	return b[helloHead:], size != 0, size == 0 || size == shm.Size
}
