package wire

import "net/netip"

// RTS (ready to send) asks a peer for a connection (struct rxd_rts_pkt). Of Base only the type is used.
type RTS struct {
	Base
	RTSAddr uint64         // the sender's index of the receiver, which the receiver puts into Base.Peer
	Source  netip.AddrPort // the sender's address as it knows it; IPv6 without a zone
	ScopeID uint32         // of a link-local Source: the zone in the sender's numbering
}

// Parse reads a packet and returns the bytes behind it, for ParseExt.
func (r *RTS) Parse(pkt []byte) (trailing []byte, err error) {
	if r.Base, err = ParseBase(pkt); err != nil {
		return nil, err
	}
	if r.Type != TypeRTS {
		return nil, ErrType
	}
	if len(pkt) < RTSLen {
		return nil, ErrShort
	}
	r.RTSAddr = le.Uint64(pkt[BaseLen:])
	if r.Source, r.ScopeID, err = parseSockaddr((*[SourceLen]byte)(pkt[BaseLen+8:])); err != nil {
		return nil, err
	}
	return pkt[RTSLen:], nil
}

// Append appends the encoded packet to dst. Its type is RTS in any case. An invalid Source is a bug of the
// caller and panics.
func (r *RTS) Append(dst []byte) []byte {
	b := r.Base
	b.Type = TypeRTS
	dst = le.AppendUint64(b.Append(dst), r.RTSAddr)
	return appendSockaddr(dst, r.Source, r.ScopeID)
}

// CTS (clear to send) answers RTS (struct rxd_cts_pkt). Of Base only the type is used.
type CTS struct {
	Base
	RTSAddr uint64 // repeated from the RTS: the index that the receiver of the CTS has of its sender
	CTSAddr uint64 // the sender's index of the receiver, which the receiver puts into Base.Peer
}

// Parse reads a packet and returns the bytes behind it, for ParseExt.
func (c *CTS) Parse(pkt []byte) (trailing []byte, err error) {
	if c.Base, err = ParseBase(pkt); err != nil {
		return nil, err
	}
	if c.Type != TypeCTS {
		return nil, ErrType
	}
	if len(pkt) < CTSLen {
		return nil, ErrShort
	}
	c.RTSAddr, c.CTSAddr = le.Uint64(pkt[16:]), le.Uint64(pkt[24:])
	return pkt[CTSLen:], nil
}

// Append appends the encoded packet to dst. Its type is CTS in any case.
func (c *CTS) Append(dst []byte) []byte {
	b := c.Base
	b.Type = TypeCTS
	dst = le.AppendUint64(b.Append(dst), c.RTSAddr)
	return le.AppendUint64(dst, c.CTSAddr)
}
