package wire

import "hash/crc32"

// CRC32C, as in SCTP and iSCSI (RFC 3720, section 12.1): computed by an instruction of today's processors, and better than the 16-bit sum of UDP.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const crcAt = 4 // where the checksum is in an extension datagram

// Checksum computes the CRC32C of an extension datagram whose header is hdr, with its checksum field zero, and whose other bytes are in parts.
func Checksum(hdr []byte, parts ...[]byte) uint32 {
	crc := crc32.Update(0, castagnoli, hdr)
	for _, p := range parts {
		crc = crc32.Update(crc, castagnoli, p)
	}
	return crc
}

// PutChecksum computes the checksum of an extension datagram in parts and writes it into hdr, whose checksum field must be zero, as Append leaves it.
func PutChecksum(hdr []byte, parts ...[]byte) {
	le.PutUint32(hdr[crcAt:], Checksum(hdr, parts...))
}

// Verify reports whether a whole extension datagram has the right checksum. It does not change pkt.
func Verify(pkt []byte) bool {
	if len(pkt) < XHeaderLen {
		return false
	}
	crc := crc32.Update(0, castagnoli, pkt[:crcAt])
	crc = crc32.Update(crc, castagnoli, zeros[:4])
	crc = crc32.Update(crc, castagnoli, pkt[crcAt+4:])
	return crc == le.Uint32(pkt[crcAt:])
}
