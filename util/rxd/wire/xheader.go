package wire

import "slices"

// XMagic is the first byte of every extension datagram. No version of native is that high.
const XMagic = 0xF2

// xGuard is the second byte, where native packets have their type: RTS. A native endpoint may get extension
// datagrams if it has the address of a former gofabric endpoint. Native checks the version only of RTS and CTS, and
// drops them. Any other type would crash it.
const xGuard = byte(TypeRTS)

// Lengths of an extension datagram's headers, in bytes, and the most SACK blocks in one.
const (
	XHeaderLen = 48
	SACKLen    = 16
	MaxSACK    = 16 // blocks

	MaxXHeader = XHeaderLen + MaxSACK*SACKLen
)

// XType is the type of an extension datagram.
type XType uint8

// The types.
const (
	XData  XType = 1 // carries bytes of the stream
	XAck   XType = 2 // acknowledges only
	XProbe XType = 3 // must be acknowledged at once
	XReset XType = 4 // the sender has given up the flow
)

var xtypeNames = [...]string{XData: "data", XAck: "ack", XProbe: "probe", XReset: "reset"}

// XFlags are the flag bits of an extension datagram. Bits without a name are ignored, and kept when a parsed header
// is encoded again.
type XFlags uint16

// The flag bits.
const (
	FlagXAckNow XFlags = 1 << 0 // the receiver should acknowledge without delay
	FlagXSACK   XFlags = 1 << 2 // SACK blocks follow; Append sets it from NSACK
	FlagXFin    XFlags = 1 << 3 // the stream ends behind this payload
)

// Range is a range of a stream: Start is the offset of its first byte, End that of the byte behind its last.
type Range struct {
	Start, End uint64
}

// XHeader is the header of an extension datagram. docs/wire/rxd.md, "Extension datagram", says how its fields are
// used.
type XHeader struct {
	Type     XType
	Flags    XFlags
	ConnID   uint64 // Ext.ConnID of the receiver
	Offset   uint64 // of the payload's first byte in the stream
	Ack      uint64 // next byte of the other stream that the sender expects
	Window   uint32 // bytes behind Ack that the sender takes
	Time     uint32 // the sender's clock in microseconds, modulo 2^32
	Echo     uint32 // Time of the datagram that this one answers; 0: none
	AckDelay uint16 // how long the sender delayed the answer, in units of 8 microseconds
	NSACK    uint8  // blocks in SACK
	SACK     [MaxSACK]Range
}

// Len is the length of everything before the payload, in bytes.
func (h *XHeader) Len() int {
	return XHeaderLen + int(h.NSACK)*SACKLen
}

// Parse reads a datagram and returns its payload, a part of pkt. It does not check the checksum: see Verify. Fields
// that the datagram does not have are zero, except in SACK beyond NSACK. After an error h may be partly
// overwritten.
func (h *XHeader) Parse(pkt []byte) (payload []byte, err error) {
	if len(pkt) < XHeaderLen {
		return nil, ErrShort
	}
	b := (*[XHeaderLen]byte)(pkt)
	if b[0] != XMagic || b[1] != xGuard {
		return nil, ErrVersion
	}
	h.Type, h.Flags = XType(b[45]), XFlags(le.Uint16(b[2:]))
	h.ConnID, h.Offset, h.Ack = le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:])
	h.Window, h.Time, h.Echo = le.Uint32(b[32:]), le.Uint32(b[36:]), le.Uint32(b[40:])
	h.NSACK, h.AckDelay = b[44], le.Uint16(b[46:])
	if h.Type-XData > XReset-XData {
		return nil, ErrType
	}
	payload = pkt[XHeaderLen:]
	if h.Flags&FlagXSACK == 0 && h.NSACK == 0 {
		return payload, nil
	}
	return h.parseSACK(payload)
}

// parseSACK reads the SACK blocks and returns the rest of b.
func (h *XHeader) parseSACK(b []byte) ([]byte, error) {
	n := int(h.NSACK)
	if n > MaxSACK || (n > 0) != (h.Flags&FlagXSACK != 0) {
		h.NSACK = 0
		return nil, ErrSACK
	}
	if len(b) < h.Len()-XHeaderLen {
		return nil, ErrShort
	}
	for i := range h.SACK[:n] {
		h.SACK[i] = Range{le.Uint64(b), le.Uint64(b[8:])}
		if h.SACK[i].Start >= h.SACK[i].End {
			return nil, ErrSACK
		}
		b = b[SACKLen:]
	}
	return b, nil
}

// Append appends the encoded header to dst, with a checksum of zero: see PutChecksum. It sets FlagXSACK if there
// are SACK blocks, and clears it otherwise. It allocates only if dst lacks room; MaxXHeader bytes are always
// enough. NSACK above MaxSACK is a bug of the caller and panics.
func (h *XHeader) Append(dst []byte) []byte {
	h.Flags &^= FlagXSACK
	if h.NSACK > 0 {
		h.Flags |= FlagXSACK
	}
	n := len(dst)
	dst = slices.Grow(dst, XHeaderLen)[:n+XHeaderLen]
	b := (*[XHeaderLen]byte)(dst[n:])
	le.PutUint64(b[0:], XMagic|uint64(xGuard)<<8|uint64(h.Flags)<<16)
	le.PutUint64(b[8:], h.ConnID)
	le.PutUint64(b[16:], h.Offset)
	le.PutUint64(b[24:], h.Ack)
	le.PutUint64(b[32:], uint64(h.Window)|uint64(h.Time)<<32)
	le.PutUint64(b[40:], uint64(h.Echo)|uint64(h.NSACK)<<32|uint64(h.Type)<<40|uint64(h.AckDelay)<<48)
	for _, r := range h.SACK[:h.NSACK] {
		dst = le.AppendUint64(le.AppendUint64(dst, r.Start), r.End)
	}
	return dst
}
