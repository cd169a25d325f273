package session

import (
	"net/netip"

	"gofabric/util/rxd/wire"
)

// A cookie proves that a peer receives at its address (as the SYN cookie of TCP, RFC 4987, 3.6, and the Retry token
// of QUIC, RFC 9000, 8.1). It is a keyed hash of what identifies the attempt, so the engine keeps nothing between
// the CTS with the cookie and the RTS that returns it.
//
// slotShift makes time slots of 17 s from nanoseconds. A cookie is valid in its slot and in the next.
const slotShift = 34

// cookie returns the cookie for the attempt x of the peer at addr in a time slot. It is never 0, which means no
// cookie.
func (e *Engine) cookie(addr netip.AddrPort, x *wire.Ext, slot int64) uint64 {
	s := newSip(e.cfg.Secret)
	// 1 and 2 separate the two uses of the secret.
	s.word(1)
	s.addr(addr)
	s.word(x.ConnID)
	s.word(x.Epoch)
	s.word(uint64(slot))
	// 0 means that there is no cookie.
	if v := s.sum(); v != 0 {
		return v
	}
	return 1
}

// cookieOK reports whether the RTS with block x has a valid cookie.
func (e *Engine) cookieOK(now int64, addr netip.AddrPort, x *wire.Ext) bool {
	slot := now >> slotShift
	return x.Cookie == e.cookie(addr, x, slot) || x.Cookie == e.cookie(addr, x, slot-1)
}

// connID returns our connection id for the peer at addr whose own is x.ConnID. Being a keyed hash, it is the same
// in CTS and after the RTS with the cookie, and an off-path attacker cannot guess it.
func (e *Engine) connID(addr netip.AddrPort, x *wire.Ext) uint64 {
	s := newSip(e.cfg.Secret)
	s.word(2)
	s.addr(addr)
	s.word(x.ConnID)
	s.word(x.Epoch)
	if v := s.sum(); v != 0 {
		return v
	}
	return 1
}
