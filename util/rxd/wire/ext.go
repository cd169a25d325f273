package wire

import "hash/crc32"

// ExtLen is the length of the extension block, in bytes, without optional fields. Blocks of later versions are no
// shorter.
const ExtLen = 64

// ExtAuthLen is the length of the block of an endpoint with an authorization key (FeatureAuth).
const ExtAuthLen = ExtLen + ProofLen

// ProofLen is the length of Ext.Proof.
const ProofLen = 16

// ExtVersion is the version of the extension. A block of another version counts as none: the peer is then treated
// as native.
const ExtVersion = 1

// extMagic is "gfx1".
const extMagic = 'g' | 'f'<<8 | 'x'<<16 | '1'<<24

// Features are abilities of the sender of an extension block beyond version 1. Unknown bits are ignored.
type Features uint64

// FeatureAtomics: the sender takes atomic operations in the stream (the extension operations of xnet).
const FeatureAtomics Features = 1 << 0

// FeatureAuth: the sender has an authorization key and connects only with peers that have the same. Its block has
// ExtAuthLen bytes.
const FeatureAuth Features = 1 << 1

// FeatureSeals: the sender seals its single-copy messages, and accepts no others (docs/wire/tcp.md).
const FeatureSeals Features = 1 << 3

// FeatureVerdicts: the sender reports in the stream the result of each remote access, and wants these reports
// (docs/wire/tcp.md, "Verdicts").
const FeatureVerdicts Features = 1 << 4

// FeatureShow: the sender proves over a local socket which process it is, and demands that proof before it reads a
// peer's memory.
const FeatureShow Features = 1 << 5

// ExtUp in Ext.Flags of a CTS: the sender has found its cookie in the RTS, and has the connection.
const ExtUp uint8 = 1 << 0

// ExtDenied in Ext.Flags of a CTS: the authorization keys differ, or one end has none. There will be no connection.
const ExtDenied uint8 = 1 << 1

// Ext is the extension block behind an RTS or CTS. It says that the sender is a gofabric endpoint.
type Ext struct {
	Flags       uint8    // ExtUp, ExtDenied; other bits are ignored
	ConnID      uint64   // random; every extension datagram to the sender carries it
	Epoch       uint64   // random, drawn when the sender's endpoint was opened: another one is another peer
	Cookie      uint64   // CTS: to be returned in another RTS; RTS: 0, or the cookie returned
	MaxDatagram uint32   // largest datagram that the sender receives, bytes
	Window      uint32   // receive window of the stream, bytes
	Features    Features // of the sender
	Nonce       uint64   // RTS: any number; CTS: that of the RTS
	// Proof, with FeatureAuth, shows that the sender has the key. It is in an RTS that returns a cookie and in a
	// CTS with ExtUp. In other blocks, and in one too short for it, it is all 0.
	Proof [ProofLen]byte
}

// ParseExt reads the block at the beginning of the bytes behind an RTS or CTS. ok is false if there is none. A
// block may be longer than ExtLen: fields of a later revision are ignored.
func ParseExt(trailing []byte) (e Ext, ok bool) {
	if len(trailing) < ExtLen {
		return Ext{}, false
	}
	w := le.Uint64(trailing)
	size := int(w >> 48)
	if uint32(w) != extMagic || uint8(w>>32) != ExtVersion || size < ExtLen || size > len(trailing) {
		return Ext{}, false
	}
	b := (*[ExtLen]byte)(trailing)
	e = Ext{
		Flags:       uint8(w >> 40),
		ConnID:      le.Uint64(b[8:]),
		Epoch:       le.Uint64(b[16:]),
		Cookie:      le.Uint64(b[24:]),
		MaxDatagram: le.Uint32(b[32:]),
		Window:      le.Uint32(b[36:]),
		Features:    Features(le.Uint64(b[40:])),
		Nonce:       le.Uint64(b[48:]),
	}
	if e.Features&FeatureAuth != 0 && size >= ExtAuthLen {
		e.Proof = [ProofLen]byte(trailing[56:])
	}
	return e, true
}

// Append appends the encoded block to dst. dst must hold the packet from its beginning, because the block ends with
// a checksum of all of it.
func (e Ext) Append(dst []byte) []byte {
	size := uint64(ExtLen)
	if e.Features&FeatureAuth != 0 {
		size = ExtAuthLen
	}
	dst = le.AppendUint64(dst, extMagic|ExtVersion<<32|uint64(e.Flags)<<40|size<<48)
	dst = le.AppendUint64(dst, e.ConnID)
	dst = le.AppendUint64(dst, e.Epoch)
	dst = le.AppendUint64(dst, e.Cookie)
	dst = le.AppendUint64(dst, uint64(e.MaxDatagram)|uint64(e.Window)<<32)
	dst = le.AppendUint64(dst, uint64(e.Features))
	dst = le.AppendUint64(dst, e.Nonce)
	if size == ExtAuthLen {
		dst = append(dst, e.Proof[:]...)
	}
	return le.AppendUint64(dst, uint64(crc32.Update(0, castagnoli, dst)))
}

// Intact reports whether the bytes behind an RTS or CTS in pkt are none, or a block of any version with the right
// checksum. Otherwise the packet was damaged and must be dropped: it could make a gofabric peer a native one.
// Intact does not change pkt.
func Intact(pkt, trailing []byte) bool {
	if len(trailing) == 0 {
		return true
	}
	if len(trailing) < ExtLen {
		return false
	}
	size := int(le.Uint16(trailing[6:]))
	if le.Uint32(trailing) != extMagic || size < ExtLen || size > len(trailing) {
		return false
	}
	end := len(pkt) - len(trailing) + size
	return le.Uint64(pkt[end-8:end]) == uint64(crc32.Update(0, castagnoli, pkt[:end-8]))
}
