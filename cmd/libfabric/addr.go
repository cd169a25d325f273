//go:build linux

package main

/*
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include "gf.h"
*/
import "C"

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"
	"unsafe"

	"gofabric/core"
)

// This file converts addresses between C (struct sockaddr, or text for FI_ADDR_STR) and Go.

const (
	sockaddrInLen  = int(unsafe.Sizeof(C.struct_sockaddr_in{}))
	sockaddrIn6Len = int(unsafe.Sizeof(C.struct_sockaddr_in6{}))
	maxStrAddr     = 1024 // largest length of an FI_ADDR_STR, in bytes
)

// encodeAddr returns the C form of a.
func encodeAddr(a core.Addr) []byte {
	switch {
	case a.IsZero():
		return nil
	case a.IP.Addr().Is4():
		b := make([]byte, sockaddrInLen)
		binary.NativeEndian.PutUint16(b, C.AF_INET)
		binary.BigEndian.PutUint16(b[2:], a.IP.Port())
		ip := a.IP.Addr().As4()
		copy(b[4:], ip[:])
		return b
	case a.IP.IsValid():
		b := make([]byte, sockaddrIn6Len)
		binary.NativeEndian.PutUint16(b, C.AF_INET6)
		binary.BigEndian.PutUint16(b[2:], a.IP.Port())
		ip := a.IP.Addr().As16()
		copy(b[8:], ip[:])
		binary.NativeEndian.PutUint32(b[24:], scopeOf(a.IP.Addr().Zone()))
		return b
	}
	return append([]byte(a.Str), 0)
}

// decodeAddr reads an address of a format. For socket formats the family in the address decides. The result is the
// zero Addr if there is no address, or its family is unknown.
func decodeAddr(b []byte, f core.AddrFormat) core.Addr {
	if f == core.FormatStr {
		for i, c := range b {
			if c == 0 {
				b = b[:i]
				break
			}
		}
		if a, err := core.ParseAddr(string(b)); err == nil {
			return a
		}
		return core.Addr{}
	}
	if len(b) < 2 {
		return core.Addr{}
	}
	switch family := binary.NativeEndian.Uint16(b); {
	case family == C.AF_INET && len(b) >= 8:
		return core.IPAddr(netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:])))
	case family == C.AF_INET6 && len(b) >= sockaddrIn6Len:
		ip := netip.AddrFrom16([16]byte(b[8:24]))
		if scope := binary.NativeEndian.Uint32(b[24:]); scope != 0 {
			ip = ip.WithZone(zoneOf(scope))
		}
		return core.Addr{Format: core.FormatSockaddrIn6, IP: netip.AddrPortFrom(ip, binary.BigEndian.Uint16(b[2:]))}
	}
	return core.Addr{}
}

func scopeOf(zone string) uint32 {
	if zone == "" {
		return 0
	}
	if ifc, err := net.InterfaceByName(zone); err == nil {
		return uint32(ifc.Index)
	}
	n, _ := strconv.ParseUint(zone, 10, 32)
	return uint32(n)
}

func zoneOf(scope uint32) string {
	if ifc, err := net.InterfaceByIndex(int(scope)); err == nil {
		return ifc.Name
	}
	return strconv.Itoa(int(scope))
}

func toAddr(a core.Addr) (unsafe.Pointer, C.size_t) {
	b := encodeAddr(a)
	if len(b) == 0 {
		return nil, 0
	}
	return C.CBytes(b), C.size_t(len(b))
}

func fromAddr(p unsafe.Pointer, n C.size_t, f core.AddrFormat) core.Addr {
	if p == nil || n == 0 {
		return core.Addr{}
	}
	return decodeAddr(unsafe.Slice((*byte)(p), min(int(n), maxStrAddr)), f)
}

// addrAt reads an address whose contents determine its length, such as the arguments of fi_av_insert and
// fi_connect. It also returns its length in C, 0 if unknown.
func addrAt(p unsafe.Pointer, f core.AddrFormat) (core.Addr, int) {
	if p == nil {
		return core.Addr{}, 0
	}
	if f == core.FormatStr {
		n := int(C.strnlen((*C.char)(p), maxStrAddr))
		return decodeAddr(unsafe.Slice((*byte)(p), n), f), n + 1
	}
	switch *(*uint16)(p) {
	case C.AF_INET:
		return decodeAddr(unsafe.Slice((*byte)(p), sockaddrInLen), f), sockaddrInLen
	case C.AF_INET6:
		return decodeAddr(unsafe.Slice((*byte)(p), sockaddrIn6Len), f), sockaddrIn6Len
	}
	return core.Addr{}, 0
}

// giveBytes copies as much of b to the program's buffer as fits, and stores its full length (fi_getname(3),
// fi_av_lookup(3)).
func giveBytes(b []byte, buf unsafe.Pointer, n *C.size_t) error {
	if n == nil {
		return core.ErrInval
	}
	room := int(*n)
	*n = C.size_t(len(b))
	if buf != nil && room > 0 {
		copy(unsafe.Slice((*byte)(buf), room), b)
	}
	if room < len(b) {
		return core.ErrTooSmall
	}
	return nil
}
