//go:build linux

package xdp

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"gofabric/internal/xdp/frame"
)

// programName is the program's name in listings (bpftool net). Another process with this package recognizes it.
const programName = "gofabric_udp"

// key is a live destination in the map of ports. It has the address in 16 bytes (IPv4 as IPv4-mapped IPv6), the port,
// the Ethernet type, and the VLANs of the packet, the outer one first, all in network order. The Ethernet type
// distinguishes an IPv6 packet to a mapped address from IPv4. The same address in another VLAN is another
// destination: it may belong to another namespace or a virtual machine.
type key [24]byte

// serviceTag is set in a VLAN's number if the protocol of the tag is 802.1ad.
const serviceTag = 0x8000

const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	etherVLAN = 0x8100 // 802.1Q
	etherQinQ = 0x88a8 // 802.1ad
)

// keyOf returns the key of an address in a network without VLANs, or with tags.
func keyOf(at netip.AddrPort, tags ...frame.Tag) key {
	var k key
	a := at.Addr().As16()
	copy(k[:16], a[:])
	binary.BigEndian.PutUint16(k[16:], at.Port())
	binary.BigEndian.PutUint16(k[18:], etherIPv6)
	if at.Addr().Is4() {
		binary.BigEndian.PutUint16(k[18:], etherIPv4)
	}
	for n, t := range tags {
		k.setVLAN(n, t.Proto, t.TCI)
	}
	return k
}

// setVLAN records the n-th tag of a packet. A tag with number 0 has only a priority (802.1Q, priority-tagged frames).
func (k *key) setVLAN(n int, proto, tci uint16) {
	if id := tci & 0xfff; id != 0 {
		if proto == etherQinQ {
			id |= serviceTag
		}
		binary.BigEndian.PutUint16(k[20+2*n:], id)
	}
}

// program is the program with its maps. It is attached by a BPF link, which ends at the latest with the process.
type program struct {
	prog  *ebpf.Program
	ports *ebpf.Map // live destinations; values are not used
	xsks  *ebpf.Map // queue -> AF_XDP socket
	// limit has the longest IP packet, the longest one with an unfinished checksum, and whether packets of several
	// parts are accepted.
	limit    *ebpf.Map
	longSeen *ebpf.Map // [0]: a longer packet has come
	events   *ebpf.Map // reports that, once until longSeen is 0 again
	frags    bool      // prog gets packets of several parts

	mu      sync.Mutex // guards the following fields
	generic bool       // generic mode: several packets may come in one piece
	link    link.Link  // nil: not attached
	forms   forms
}

// loadProgram makes the maps for the given numbers of queues and ports, and loads the program. frags means that it
// may get packets of several parts.
func loadProgram(queues, ports int, frags bool) (*program, error) {
	p := &program{}
	if err := p.load(uint32(queues), uint32(ports), frags); err != nil {
		p.close()
		return nil, loadError(err)
	}
	return p, nil
}

func (p *program) load(queues, ports uint32, frags bool) (err error) {
	if p.ports, err = ebpf.NewMap(&ebpf.MapSpec{
		Name: "gofabric_ports", Type: ebpf.Hash, KeySize: uint32(len(key{})), ValueSize: 1, MaxEntries: ports, Flags: unix.BPF_F_NO_PREALLOC,
	}); err != nil {
		return err
	}
	if p.xsks, err = ebpf.NewMap(&ebpf.MapSpec{Name: "gofabric_xsks", Type: ebpf.XSKMap, KeySize: 4, ValueSize: 4, MaxEntries: queues}); err != nil {
		return err
	}
	if p.limit, err = ebpf.NewMap(&ebpf.MapSpec{Name: "gofabric_limit", Type: ebpf.Array, KeySize: 4, ValueSize: 12, MaxEntries: 1}); err != nil {
		return err
	}
	if p.longSeen, err = ebpf.NewMap(&ebpf.MapSpec{Name: "gofabric_long", Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1}); err != nil {
		return err
	}
	if p.events, err = ebpf.NewMap(&ebpf.MapSpec{Name: "gofabric_events", Type: ebpf.RingBuf, MaxEntries: uint32(os.Getpagesize())}); err != nil {
		return err
	}
	p.frags = frags
	p.prog, err = ebpf.NewProgram(p.spec(frags))
	if frags && errors.Is(err, unix.EINVAL) {
		p.frags = false // Linux before 5.18: there are no packets of several parts then
		p.prog, err = ebpf.NewProgram(p.spec(false))
	}
	return err
}

// spec returns the specification of the program.
func (p *program) spec(frags bool) *ebpf.ProgramSpec {
	m := programMaps{ports: p.ports.FD(), xsks: p.xsks.FD(), limit: p.limit.FD(), longSeen: p.longSeen.FD(), events: p.events.FD()}
	s := &ebpf.ProgramSpec{Name: programName, Type: ebpf.XDP, Instructions: instructions(m, frags)}
	if frags {
		s.Flags = unix.BPF_F_XDP_HAS_FRAGS
	}
	return s
}

// attach attaches the program. It returns different errors for modes that the driver does not have and for programs
// that are attached already.
func (p *program) attach(ifindex int, mode Mode) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	flags := link.XDPDriverMode
	if mode == Generic {
		flags = link.XDPGenericMode
	}
	l, err := link.AttachXDP(link.XDPOptions{Program: p.form(mode), Interface: ifindex, Flags: flags})
	if err != nil {
		return attachError(err, ifindex, mode)
	}
	p.link, p.generic = l, mode == Generic
	return nil
}

// runMin is the longest IP packet in generic mode with an unfinished checksum. Over virtual interfaces all datagrams
// of sockets have such a checksum. But so does a run of a socket (UDP_SEGMENT), whose headers are those of one long
// datagram: only the kernel knows that it is several (gso_size of struct skb_shared_info). If the MTU is larger than
// runMin, a run may be shorter than the MTU. Runs from users of this package are longer than runMin.
const runMin = 1500

// setLimit sets the largest size of IP packets, in bytes with the IP header. Longer ones go to the kernel's stack.
// They would not fit, or they are several packets that a virtual interface passes on as one (GSO), which only the
// kernel can split. The program must be attached. parts is for sockets that accept packets of several parts. Other
// sockets could get those that are short enough in one piece. But from Linux 5.18 to 6.5 the kernel drops packets of
// several parts instead of redirecting them (net/core/filter.c, xdp_do_redirect), and the driver of virtual cables
// makes parts of all packets beyond 3,520 bytes (drivers/net/veth.c, veth_convert_skb_to_xdp_buff).
func (p *program) setLimit(n int, parts bool) error {
	p.mu.Lock()
	generic := p.generic
	p.mu.Unlock()
	limits := [3]uint32{uint32(n), uint32(n)}
	if generic {
		limits[1] = runMin
	}
	if parts {
		limits[2] = 1
	}
	return p.limit.Put(uint32(0), limits)
}

// setSocket redirects packets on a queue to a socket.
func (p *program) setSocket(queue uint32, fd int) error { return p.xsks.Put(queue, uint32(fd)) }

// setPort redirects packets with the key k to the socket of their queue.
func (p *program) setPort(k key) error { return p.ports.Put(k[:], uint8(1)) }

func (p *program) deletePort(k key) error {
	err := p.ports.Delete(k[:])
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil
	}
	return err
}

// close detaches the program first, so that packets go to the kernel before the sockets close.
func (p *program) close() {
	p.stopForms() // it may be changing the link
	if p.link != nil {
		p.link.Close()
	}
	if p.prog != nil {
		p.prog.Close()
	}
	for _, m := range []*ebpf.Map{p.ports, p.xsks, p.limit, p.longSeen, p.events} {
		if m != nil {
			m.Close()
		}
	}
}
