package neigh

import (
	"cmp"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"gofabric/internal/xdp/frame"
)

// device is the relevant state of an interface.
type device struct {
	index    int
	mac      frame.MAC
	mtu      int
	up       bool // administratively up, and with a carrier
	ethernet bool
	loopback bool
	// These are the fields of a VLAN device:
	tag     frame.Tag // Proto 0: none
	parent  int
	foreign bool // the parent is in another namespace
}

// deviceOf returns the relevant state of a link.
func deviceOf(l netlink.Link) device {
	a := l.Attrs()
	d := device{
		index: a.Index, mtu: a.MTU, up: a.RawFlags&unix.IFF_UP != 0 && a.RawFlags&unix.IFF_RUNNING != 0,
		loopback: a.RawFlags&unix.IFF_LOOPBACK != 0, ethernet: a.EncapType == "ether" && len(a.HardwareAddr) == len(frame.MAC{}),
	}
	if d.ethernet {
		d.mac = frame.MAC(a.HardwareAddr)
	}
	if v, ok := l.(*netlink.Vlan); ok {
		// Packets have priority 0 (SO_PRIORITY).
		d.tag = frame.Tag{Proto: uint16(v.VlanProtocol), TCI: uint16(v.VlanId) | uint16(v.EgressQosMap[0])<<13}
		d.parent, d.foreign = a.ParentIndex, a.NetNsID >= 0
		d.tag.Proto = cmp.Or(d.tag.Proto, frame.TagC) // kernels before 3.10 have no other protocol
	}
	return d
}

// device returns the state of an interface. It asks the kernel if the state is not known.
func (t *Table) device(index int) (*device, error) {
	if d := t.links[index]; d != nil {
		return d, nil
	}
	l, err := t.h.LinkByIndex(index)
	if err != nil {
		return nil, errnoOf(err)
	}
	d := deviceOf(l)
	t.links[index] = &d
	return &d, nil
}

// stack is the interface where frames of a device leave, and their tags.
type stack struct {
	link int
	tags [frame.TagsMax]frame.Tag
	mac  frame.MAC
	mtu  int
}

// stackOf follows VLAN devices down to the interface below them.
func stackOf(index int, device func(int) (*device, error)) (stack, error) {
	var s stack
	for n := 0; ; n++ {
		d, err := device(index)
		switch {
		case err != nil:
			return s, err
		case !d.ethernet || d.loopback:
			return s, ErrLink
		case !d.up:
			return s, ErrDown
		}
		if n == 0 {
			s.mac, s.mtu = d.mac, d.mtu
		}
		if d.tag.Proto == 0 {
			s.link = d.index
			// Drivers have room for one tag beyond the MTU (net/core/dev.c, ____dev_forward_skb; is_skb_forwardable).
			if n > 1 {
				s.mtu = min(s.mtu, d.mtu-(n-1)*frame.TagLen)
			}
			return s, nil
		}
		if n == frame.TagsMax || d.foreign {
			return s, ErrLink
		}
		s.tags[1], s.tags[0] = s.tags[0], d.tag // the tag of the lower device is the outer one
		index = d.parent
	}
}

// Below returns the interface below a VLAN device of the calling thread's network namespace, and the tags that frames
// of the device have there, the outer one first. For other devices, and if the interface below is in another
// namespace, it returns the device itself and no tags.
func Below(index int) (link int, tags []frame.Tag, err error) {
	for at := index; ; {
		l, err := netlink.LinkByIndex(at)
		if err != nil {
			return 0, nil, errnoOf(err)
		}
		d := deviceOf(l)
		switch {
		case d.tag.Proto == 0:
			return at, tags, nil
		case len(tags) == frame.TagsMax || d.foreign:
			return index, nil, nil
		}
		tags = append([]frame.Tag{d.tag}, tags...)
		at = d.parent
	}
}
