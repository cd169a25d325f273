//go:build linux

package xdp

import (
	"encoding/binary"
	"net/netip"

	"gofabric/internal/netx"
)

// keeper has the program of an interface: this process, or a daemon that lends it.
type keeper interface {
	// setPort makes packets to k come to this process; fd is the socket bound there, if the port's owner told.
	setPort(k key, fd netx.FD) error
	deletePort(k key) error
	// setLimit says how long the IP packets may be that come, and whether they may have several parts.
	setLimit(n int, parts bool) error
	close()
}

// own is the keeper of an interface that this process has for itself.
type own struct{ *program }

func (o own) setPort(k key, _ netx.FD) error { return o.program.setPort(k, 0) }

// address is the destination that a key stands for, if it is in no VLAN.
func (k key) address() (at netip.AddrPort, ok bool) {
	a := netip.AddrFrom16([16]byte(k[:16]))
	if binary.BigEndian.Uint16(k[18:]) == etherIPv4 {
		a = a.Unmap()
	}
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(k[16:])), [4]byte(k[20:]) == [4]byte{}
}
