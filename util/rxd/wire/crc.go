package wire

import "hash/crc32"

// CRC32C (Castagnoli), as in SCTP and iSCSI (RFC 3720, 12.1). Processors have an instruction for it, and it finds
// errors that the 16-bit checksum of UDP misses (RFC 768).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crcAt is the offset of the checksum in an extension datagram.
const crcAt = 4

// Checksum computes the CRC32C of an extension datagram. hdr is its header with a checksum of zero, parts are its
// other bytes.
func Checksum(hdr []byte, parts ...[]byte) uint32 {
	crc := crc32.Update(0, castagnoli, hdr)
	for _, p := range parts {
		crc = crc32.Update(crc, castagnoli, p)
	}
	return crc
}

// PutChecksum computes the checksum of an extension datagram in parts and writes it into hdr. The field must be
// zero before, as Append leaves it.
func PutChecksum(hdr []byte, parts ...[]byte) {
	le.PutUint32(hdr[crcAt:], Checksum(hdr, parts...))
}

// Verify reports whether a complete extension datagram has the right checksum. It does not change pkt.
func Verify(pkt []byte) bool {
	if len(pkt) < XHeaderLen {
		return false
	}
	crc := crc32.Update(0, castagnoli, pkt[:crcAt])
	crc = crc32.Update(crc, castagnoli, zeros[:4])
	crc = crc32.Update(crc, castagnoli, pkt[crcAt+4:])
	return crc == le.Uint32(pkt[crcAt:])
}
