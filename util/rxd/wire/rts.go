package wire

import "net/netip"

// RTS opens the way to a peer. Of Base only the type counts.
type RTS struct {
	Base
	RTSAddr uint64         // the sender's index of the receiver: what the receiver puts into Base.Peer
	Source  netip.AddrPort // where the sender's endpoint is, as it knows itself; IPv6 without a zone
	ScopeID uint32         // of a link-local Source; the zone as the sender numbers it
}

// Parse reads a packet and returns what follows it, for ParseExt.
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

// Append appends the encoded packet to dst, of type RTS whatever Base says. A Source that is not valid is the caller's mistake and panics.
func (r *RTS) Append(dst []byte) []byte {
	b := r.Base
	b.Type = TypeRTS
	dst = le.AppendUint64(b.Append(dst), r.RTSAddr)
	return appendSockaddr(dst, r.Source, r.ScopeID)
}

// CTS answers RTS. Of Base only the type counts.
type CTS struct {
	Base
	RTSAddr uint64 // echo: the index that the receiver of CTS has of its sender
	CTSAddr uint64 // the sender's index of the receiver: what the receiver puts into Base.Peer
}

// Parse reads a packet and returns what follows it, for ParseExt.
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

// Append appends the encoded packet to dst, of type CTS whatever Base says.
func (c *CTS) Append(dst []byte) []byte {
	b := c.Base
	b.Type = TypeCTS
	dst = le.AppendUint64(b.Append(dst), c.RTSAddr)
	return le.AppendUint64(dst, c.CTSAddr)
}
