//go:build linux

package xdp

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"gofabric/internal/xdp/frame"
	"gofabric/test/need"
)

// These are offsets in struct __sk_buff (linux/bpf.h), and the results of such programs (TCX_NEXT, TCX_DROP).
const (
	skbTCI      = 24
	skbVLANKind = 28

	tcNext = -1
	tcShot = 2
)

// onWire attaches a program to an end of the cable, for incoming or outgoing packets.
func onWire(t *testing.T, h *place, index int, at ebpf.AttachType, code asm.Instructions) {
	t.Helper()
	h.Enter()
	code = append(code, asm.Mov.Imm(asm.R0, tcNext).WithSymbol("end"), asm.Return())
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, Instructions: code, License: "GPL"})
	must(t, err)
	t.Cleanup(func() { prog.Close() })
	l, err := link.AttachTCX(link.TCXOptions{Interface: index, Program: prog, Attach: at})
	if errors.Is(err, ebpf.ErrNotSupported) {
		need.Missing(t, "the kernel cannot attach tc programs by links, which Linux 6.6 can")
	}
	must(t, err)
	t.Cleanup(func() { l.Close() })
}

// pushInto inserts a tag into packets, before other tags. A VLAN device does that if the card cannot.
func pushInto(tag frame.Tag) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.Mov.Imm(asm.R2, tagLen),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnSkbChangeHead.Call(),
		asm.JNE.Imm(asm.R0, 0, "end"),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Imm(asm.R2, tagLen),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, -16),
		asm.Mov.Imm(asm.R4, 12), // both Ethernet addresses
		asm.FnSkbLoadBytes.Call(),
		asm.StoreImm(asm.RFP, -4, int64(net16(tag.Proto)), asm.Half),
		asm.StoreImm(asm.RFP, -2, int64(net16(tag.TCI)), asm.Half),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Imm(asm.R2, 0),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, -16),
		asm.Mov.Imm(asm.R4, 16),
		asm.Mov.Imm(asm.R5, 0),
		asm.FnSkbStoreBytes.Call(),
		asm.Mov.Reg(asm.R1, asm.R6),
	}
}

// pushBeside adds a tag to the metadata of packets. A VLAN device does that if the card inserts it.
func pushBeside(tag frame.Tag) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.Mov.Imm(asm.R2, net16(tag.Proto)),
		asm.Mov.Imm(asm.R3, int32(tag.TCI)),
		asm.FnSkbVlanPush.Call(),
		asm.Mov.Reg(asm.R1, asm.R6),
	}
}

// popped removes these tags from packets that have exactly them, the outer one first, and drops all other packets.
func popped(tags ...frame.Tag) asm.Instructions {
	is := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}
	for _, tag := range tags {
		is = append(is,
			asm.LoadMem(asm.R2, asm.R6, skbVLANKind, asm.Word),
			asm.JNE.Imm(asm.R2, net16(tag.Proto), "others"),
			asm.LoadMem(asm.R2, asm.R6, skbTCI, asm.Word),
			asm.JNE.Imm(asm.R2, int32(tag.TCI), "others"),
			asm.Mov.Reg(asm.R1, asm.R6),
			asm.FnSkbVlanPop.Call(),
		)
	}
	return append(is,
		asm.Ja.Label("end"),
		asm.Mov.Imm(asm.R0, tcShot).WithSymbol("others"),
		asm.Return(),
	)
}

// TestTagsOnTheWire sends datagrams of the kernel through a cable that tags them, to ports in those VLANs. Ports send
// with tags to a socket behind a program that removes exactly those tags. The test needs no VLAN devices.
func TestTagsOnTheWire(t *testing.T) {
	prio := frame.Tag{Proto: frame.TagC, TCI: 7 << 13}
	prio5 := frame.Tag{Proto: frame.TagC, TCI: 7<<13 | 5}
	for _, mode := range []Mode{Driver, Generic} {
		for _, c := range []struct {
			name   string
			wire   []frame.Tag // the outer tag first
			beside bool        // the outermost tag is in the metadata
			port   []frame.Tag // tags of the port that receives them
			others []frame.Tag // tags of a port that receives nothing
		}{
			{"one", []frame.Tag{tag5}, false, []frame.Tag{tag5}, nil},
			{"one with a priority", []frame.Tag{prio5}, false, []frame.Tag{tag5}, nil},
			{"a priority only", []frame.Tag{prio}, false, nil, []frame.Tag{tag5}},
			{"two", []frame.Tag{tag9, tag5}, false, []frame.Tag{tag9, tag5}, []frame.Tag{tag5}},
			{"beside the packet, where no XDP program sees it", []frame.Tag{tag5}, true, nil, []frame.Tag{tag5}},
			{"two, the outer one beside the packet", []frame.Tag{tag9, tag5}, true, []frame.Tag{tag5},
				[]frame.Tag{tag9, tag5}},
		} {
			t.Run(fmt.Sprintf("%v/%s", mode, c.name), func(t *testing.T) {
				a, b := places(t, 1, 1500)
				index := b.Interface("eth9").Index
				at := netip.AddrPortFrom(a.v4, 7001)
				a.Enter()
				i, err := Open("eth9", Config{Mode: mode})
				must(t, err)
				t.Cleanup(i.Close)
				bind := func(tags []frame.Tag) *Port {
					p, err := i.Bind(at, tags...)
					must(t, err)
					t.Cleanup(func() { must(t, p.Close()) })
					return p
				}
				p, q := bind(c.port), bind(c.others)
				s := listen(t, b, netip.AddrPortFrom(b.v4, 7000))
				for n := len(c.wire) - 1; n >= 0; n-- {
					push := pushInto(c.wire[n])
					if n == 0 && c.beside {
						push = pushBeside(c.wire[n])
					}
					onWire(t, b, index, ebpf.AttachTCXEgress, push)
				}
				_, err = s.WriteToUDPAddrPort([]byte("tagged"), at)
				must(t, err)
				if got := take(t, p, 1)[0]; string(payloadOf(t, got)) != "tagged" {
					t.Errorf("%x", got)
				}
				var f [4]Frame
				if n := q.Receive(f[:]); n != 0 {
					t.Errorf("the other port got %d frames", n)
				}

				onWire(t, b, index, ebpf.AttachTCXIngress, popped(c.wire...))
				put(t, p, packet(t, a, b, at, netip.AddrPortFrom(b.v4, 7000), []byte("less"), c.wire[1:]...)) // dropped
				put(t, p, packet(t, a, b, at, netip.AddrPortFrom(b.v4, 7000), []byte("answer"), c.wire...))
				buf := make([]byte, 100)
				n, _, err := s.ReadFromUDPAddrPort(buf)
				must(t, err)
				if string(buf[:n]) != "answer" {
					t.Errorf("%q", buf[:n])
				}
			})
		}
	}
}
