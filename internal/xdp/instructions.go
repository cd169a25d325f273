//go:build linux

package xdp

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"
)

// These are results of XDP programs, and offsets in struct xdp_md (linux/bpf.h).
const (
	xdpPass = 2

	mdData    = 0
	mdDataEnd = 4
	mdQueue   = 16
)

// These are lengths of headers in bytes, and values of their fields.
const (
	etherLen = 14
	tagLen   = 4
	ip4Len   = 20
	ip6Len   = 40
	udpLen   = 8

	protoUDP  = 17
	fragment4 = 0x3fff // of IPv4's flags and offset: more fragments follow, or this is not the first one
)

// These are the offsets of the key on the program's stack.
const (
	keyAddr  = -24
	keyPort  = keyAddr + 16
	keyEther = keyAddr + 18
	keyVLAN  = keyAddr + 20
)

// pass is the label of the end that passes a packet to the kernel's stack. long is the label of the end that also
// reports that the packet is longer than the limit.
const (
	pass = "pass"
	long = "long"
)

// limitMost bounds the limit, so that the verifier knows that it does not lead beyond any packet.
const limitMost = 0xf000

// programMaps are the descriptors of the program's maps.
type programMaps struct{ ports, xsks, limit, longSeen, events int }

// instructions returns the program. It redirects UDP packets whose destination is in the map of ports, and passes all
// others to the kernel: packets that are not unicast, have IP options or extension headers, are fragments, or are
// longer than the limits.
//
// R6 is the context, R7 the packet without VLAN tags, R8 its end, R9 the length of the IP packet. With frags, a
// packet may have more parts than the one between R7 and R8.
func instructions(m programMaps, frags bool) asm.Instructions {
	is := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R7, asm.R6, mdData, asm.Word),
		asm.LoadMem(asm.R8, asm.R6, mdDataEnd, asm.Word),
	}
	is = append(is, length(m.limit, frags)...)
	is = append(is, within("Ethernet", etherLen)...)
	is = append(is,
		asm.LoadMem(asm.R1, asm.R7, 0, asm.Byte),
		// This is the group bit: multicast and broadcast have other receivers, too.
		asm.And.Imm(asm.R1, 1),
		asm.JNE.Imm(asm.R1, 0, pass),
		asm.LoadMem(asm.R4, asm.R7, 12, asm.Half),
	)
	is = append(is, asm.StoreImm(asm.RFP, keyVLAN, 0, asm.Word))
	for n, tag := range []string{"outer tag", "inner tag"} {
		is = append(is,
			asm.JEq.Imm(asm.R4, net16(etherVLAN), tag),
			asm.JNE.Imm(asm.R4, net16(etherQinQ), "protocol"),
		)
		is = append(is, within(tag, etherLen+tagLen)...)
		is = append(is, keyTag(tag+" done", keyVLAN+2*int16(n))...)
		is = append(is,
			asm.Add.Imm(asm.R7, tagLen).WithSymbol(tag+" done"),
			asm.LoadMem(asm.R4, asm.R7, 12, asm.Half),
		)
	}
	is = append(is,
		asm.JEq.Imm(asm.R4, net16(etherIPv4), "IPv4").WithSymbol("protocol"),
		asm.JEq.Imm(asm.R4, net16(etherIPv6), "IPv6"),
		asm.Ja.Label(pass),
	)
	is = append(is, keyIPv4("IPv4")...)
	is = append(is, keyIPv6("IPv6")...)
	is = append(is, limits("limits", "redirect", m.limit)...)
	return append(is, redirect("redirect", m)...)
}

// length continues unless the packet is longer than the limit, or the limit is not set yet. With frags, only the
// first part of a packet is between R7 and R8, and a packet with more parts continues only if that is allowed.
func length(limit int, frags bool) asm.Instructions {
	is := asm.Instructions{
		asm.LoadMapValue(asm.R1, limit, 0),
		asm.LoadMem(asm.R9, asm.R1, 0, asm.Word),
		asm.JEq.Imm(asm.R9, 0, pass),
		asm.JGT.Imm(asm.R9, limitMost, pass),
	}
	if frags {
		return append(is,
			asm.Add.Imm(asm.R9, linkMax),
			asm.Mov.Reg(asm.R1, asm.R6),
			asm.FnXdpGetBuffLen.Call(),
			asm.JGT.Reg(asm.R0, asm.R9, long),
			asm.LoadMapValue(asm.R1, limit, 0),
			asm.LoadMem(asm.R1, asm.R1, 8, asm.Word),
			asm.JNE.Imm(asm.R1, 0, "Ethernet"),
			asm.JGT.Imm(asm.R0, limitMost+linkMax, pass), // for the verifier; it cannot happen
			asm.Mov.Reg(asm.R2, asm.R7),
			asm.Add.Reg(asm.R2, asm.R0),
			asm.JGT.Reg(asm.R2, asm.R8, pass))
	}
	return append(is,
		asm.Mov.Reg(asm.R2, asm.R7),
		asm.Add.Reg(asm.R2, asm.R9),
		asm.Add.Imm(asm.R2, linkMax+1),
		asm.JLE.Reg(asm.R2, asm.R8, long))
}

// keyTag puts the number of a tag into the key, at an offset of the stack, and continues at a label. The number of a
// tag that has only a priority stays 0.
func keyTag(end string, at int16) asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R1, asm.R7, etherLen, asm.Half),
		asm.And.Imm(asm.R1, net16(0xfff)),
		asm.JEq.Imm(asm.R1, 0, end),
		asm.JNE.Imm(asm.R4, net16(etherQinQ), end+", 802.1Q"),
		asm.Or.Imm(asm.R1, net16(serviceTag)),
		asm.StoreMem(asm.RFP, at, asm.R1, asm.Half).WithSymbol(end + ", 802.1Q"),
	}
}

// within continues if the packet has n bytes from R7 on.
func within(label string, n int32) asm.Instructions {
	first := asm.Mov.Reg(asm.R2, asm.R7)
	if label != "" {
		first = first.WithSymbol(label)
	}
	return asm.Instructions{
		first,
		asm.Add.Imm(asm.R2, n),
		asm.JGT.Reg(asm.R2, asm.R8, pass),
	}
}

// keyIPv4 puts the destination of an IPv4 packet into the key.
func keyIPv4(label string) asm.Instructions {
	return append(within(label, etherLen+ip4Len+udpLen),
		asm.LoadMem(asm.R1, asm.R7, etherLen, asm.Byte),
		asm.JNE.Imm(asm.R1, 0x45, pass), // version 4, no options
		asm.LoadMem(asm.R1, asm.R7, etherLen+6, asm.Half),
		asm.And.Imm(asm.R1, net16(fragment4)),
		asm.JNE.Imm(asm.R1, 0, pass),
		asm.LoadMem(asm.R1, asm.R7, etherLen+9, asm.Byte),
		asm.JNE.Imm(asm.R1, protoUDP, pass),
		asm.LoadMem(asm.R9, asm.R7, etherLen+2, asm.Half),
		asm.HostTo(asm.BE, asm.R9, asm.Half),
		asm.StoreImm(asm.RFP, keyAddr, 0, asm.Word),
		asm.StoreImm(asm.RFP, keyAddr+4, 0, asm.Word),
		asm.StoreImm(asm.RFP, keyAddr+8, 0, asm.Half),
		asm.StoreImm(asm.RFP, keyAddr+10, 0xffff, asm.Half),
		asm.LoadMem(asm.R1, asm.R7, etherLen+16, asm.Word),
		asm.StoreMem(asm.RFP, keyAddr+12, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, asm.R7, etherLen+ip4Len+2, asm.Half),
		asm.StoreMem(asm.RFP, keyPort, asm.R1, asm.Half),
		asm.StoreMem(asm.RFP, keyEther, asm.R4, asm.Half),
		asm.Ja.Label("limits"),
	)
}

// keyIPv6 puts the destination of an IPv6 packet into the key and continues after the address.
func keyIPv6(label string) asm.Instructions {
	is := append(within(label, etherLen+ip6Len+udpLen),
		asm.LoadMem(asm.R1, asm.R7, etherLen, asm.Byte),
		asm.And.Imm(asm.R1, 0xf0),
		asm.JNE.Imm(asm.R1, 0x60, pass),
		asm.LoadMem(asm.R1, asm.R7, etherLen+6, asm.Byte),
		asm.JNE.Imm(asm.R1, protoUDP, pass), // no extension headers, fragments among them
		asm.LoadMem(asm.R9, asm.R7, etherLen+4, asm.Half),
		asm.HostTo(asm.BE, asm.R9, asm.Half),
		asm.Add.Imm(asm.R9, ip6Len),
	)
	for i := int16(0); i < 16; i += 4 {
		is = append(is,
			asm.LoadMem(asm.R1, asm.R7, etherLen+24+i, asm.Word),
			asm.StoreMem(asm.RFP, keyAddr+i, asm.R1, asm.Word),
		)
	}
	return append(is,
		asm.LoadMem(asm.R1, asm.R7, etherLen+ip6Len+2, asm.Half),
		asm.StoreMem(asm.RFP, keyPort, asm.R1, asm.Half),
		asm.StoreMem(asm.RFP, keyEther, asm.R4, asm.Half),
	)
}

// limits continues at a label unless the packet is too long. There are two limits: one for all packets, and one for
// packets whose checksum is only the sum of the pseudo header, because those may be several datagrams in one piece
// (program.setLimit).
func limits(label, next string, limit int) asm.Instructions {
	is := asm.Instructions{
		asm.LoadMapValue(asm.R2, limit, 0).WithSymbol(label),
		asm.LoadMem(asm.R1, asm.R2, 0, asm.Word),
		asm.JGT.Reg(asm.R9, asm.R1, pass),
		asm.LoadMem(asm.R1, asm.R2, 4, asm.Word),
		asm.JLE.Reg(asm.R9, asm.R1, next),
		asm.Mov.Imm(asm.R1, net16(protoUDP)),
		asm.JEq.Imm(asm.R4, net16(etherIPv6), "pseudo IPv6"),
	}
	is = append(is, pseudo(12, 8, ip4Len)...)
	is = append(is, asm.Ja.Label("fold"))
	v6 := pseudo(8, 32, ip6Len)
	v6[0] = v6[0].WithSymbol("pseudo IPv6")
	is = append(is, v6...)
	for n := range 3 { // of at most ten words, so that no carry remains
		shift := asm.Mov.Reg(asm.R2, asm.R1)
		if n == 0 {
			shift = shift.WithSymbol("fold")
		}
		is = append(is, shift, asm.RSh.Imm(asm.R2, 16), asm.And.Imm(asm.R1, 0xffff), asm.Add.Reg(asm.R1, asm.R2))
	}
	return append(is, asm.JEq.Reg(asm.R1, asm.R5, pass))
}

// pseudo adds the addresses, which begin at an offset of the IP header, and the UDP length to R1, and loads the
// checksum into R5.
func pseudo(addrs, size, header int16) asm.Instructions {
	is := asm.Instructions{
		asm.LoadMem(asm.R2, asm.R7, etherLen+header+4, asm.Half),
		asm.Add.Reg(asm.R1, asm.R2),
		asm.LoadMem(asm.R5, asm.R7, etherLen+header+6, asm.Half),
	}
	for i := int16(0); i < size; i += 4 {
		is = append(is, asm.LoadMem(asm.R2, asm.R7, etherLen+addrs+i, asm.Word), asm.Add.Reg(asm.R1, asm.R2))
	}
	return is
}

// redirect looks up the key and ends the program.
func redirect(label string, m programMaps) asm.Instructions {
	return asm.Instructions{
		asm.LoadMapPtr(asm.R1, m.ports).WithSymbol(label),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, keyAddr),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, pass),
		asm.LoadMem(asm.R2, asm.R6, mdQueue, asm.Word),
		asm.LoadMapPtr(asm.R1, m.xsks),
		asm.Mov.Imm(asm.R3, xdpPass), // the result of the next call if the queue has no socket
		asm.FnRedirectMap.Call(),
		asm.Return(),
		asm.LoadMapValue(asm.R1, m.longSeen, 0).WithSymbol(long),
		asm.LoadMem(asm.R2, asm.R1, 0, asm.Word),
		asm.JNE.Imm(asm.R2, 0, pass),
		asm.StoreImm(asm.R1, 0, 1, asm.Word),
		asm.StoreImm(asm.RFP, keyAddr, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, m.events),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, keyAddr),
		asm.Mov.Imm(asm.R3, 4), // bytes without a meaning
		asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(),
		asm.Mov.Imm(asm.R0, xdpPass).WithSymbol(pass),
		asm.Return(),
	}
}

// net16 returns the value that a 16-bit load of a packet returns for v.
func net16(v uint16) int32 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], v)
	return int32(binary.NativeEndian.Uint16(b[:]))
}
