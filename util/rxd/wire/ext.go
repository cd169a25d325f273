package wire

import "hash/crc32"

// ExtLen is the length of the extension block in bytes, without what features add, and of the least block of later versions.
const ExtLen = 64

// ExtAuthLen is the length of the block of an endpoint with an authorization key (FeatureAuth).
const ExtAuthLen = ExtLen + ProofLen

// ProofLen is the length of Ext.Proof.
const ProofLen = 16

// ExtVersion is the version of the extension. A block of another version counts as none.
const ExtVersion = 1

// extMagic is "gfx1".
const extMagic = 'g' | 'f'<<8 | 'x'<<16 | '1'<<24

// Features are what the sender of an extension block can do beyond version 1.
type Features uint64

// FeatureAtomics: atomics are understood in the stream.
const FeatureAtomics Features = 1 << 0

// FeatureAuth: the sender has an authorization key, and talks to those only that have it, too. Its block has ExtAuthLen bytes.
const FeatureAuth Features = 1 << 1

// FeatureSeals: the sender seals each message that it sends by reference, and takes no other.
const FeatureSeals Features = 1 << 3

// FeatureVerdicts: the sender tells in the stream what becomes of each remote access, and wants to be told.
const FeatureVerdicts Features = 1 << 4

// FeatureShow: the sender shows at a local socket which process it is, and has this shown before it reads a peer's memory.
const FeatureShow Features = 1 << 5

// ExtUp in Ext.Flags of a CTS: its sender has found its cookie in the RTS, and has the connection.
const ExtUp uint8 = 1 << 0

// ExtDenied in Ext.Flags of a CTS: its sender has another authorization key, or one of the two has none. There is no connection.
const ExtDenied uint8 = 1 << 1

// Ext is the extension block behind an RTS or CTS: its sender is gofabric.
type Ext struct {
	Flags       uint8    // ExtUp, ExtDenied; other bits are ignored
	ConnID      uint64   // what the receiver puts into every extension datagram that it sends to the sender; random
	Epoch       uint64   // random, of the sender's endpoint: a new one is a new peer
	Cookie      uint64   // CTS: made by its sender, to be sent back in another RTS; RTS: 0, or the echo
	MaxDatagram uint32   // the largest datagram that the sender receives, bytes
	Window      uint32   // receive window, bytes of stream
	Features    Features // of the sender
	Nonce       uint64   // RTS: any number; CTS: an echo of it
	// Proof, with FeatureAuth, shows that the sender has the key, in an RTS that echoes a cookie and in a CTS with ExtUp; else, and in a block that is too short
	// for it, all 0.
	Proof [ProofLen]byte
}

// ParseExt looks for the block at the beginning of what follows an RTS or CTS. A block may be longer than ExtLen: what a later revision adds is ignored.
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

// Append appends the encoded block to dst, which must hold the packet from its beginning: the block ends with a checksum of all of it.
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

// Intact reports whether what follows an RTS or CTS in pkt is nothing, or a block of whatever version whose checksum is right. If not, the packet was damaged
// on its way, and nothing in it can be believed. It does not change pkt.
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
