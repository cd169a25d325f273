package engine

import (
	"net/netip"

	"gofabric/util/rxd/wire"
)

// slotShift makes time slots of 17 s from nanoseconds. A cookie is good in the slot in which it was made and in the next.
const slotShift = 34

// cookie is what only who receives at addr can know of: the peer's RTS is believed when it brings it.
func (e *Engine) cookie(addr netip.AddrPort, x *wire.Ext, slot int64) uint64 {
	s := newSip(e.cfg.Secret)
	s.word(1)
	s.addr(addr)
	s.word(x.ConnID)
	s.word(x.Epoch)
	s.word(uint64(slot))
	if v := s.sum(); v != 0 {
		return v
	}
	return 1
}

// cookieOK reports whether the RTS brings a cookie of ours.
func (e *Engine) cookieOK(now int64, addr netip.AddrPort, x *wire.Ext) bool {
	slot := now >> slotShift
	return x.Cookie == e.cookie(addr, x, slot) || x.Cookie == e.cookie(addr, x, slot-1)
}

// connID is the connection id for the peer at addr whose own is x.ConnID: it need not be remembered between CTS and the RTS with the cookie.
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
