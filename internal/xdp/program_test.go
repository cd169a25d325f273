//go:build linux

package xdp

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"gofabric/internal/xdp/frame"
	"gofabric/test/need"
)

const xdpRedirect = 4

// live has the addresses at which the programs of these tests have ports.
var live = []netip.AddrPort{netip.MustParseAddrPort("10.1.2.3:7471"), netip.MustParseAddrPort("[fd00::7]:7471"),
	netip.MustParseAddrPort("10.1.2.4:9")}

// Some of the ports are in these VLANs.
var tag5, tag9 = frame.Tag{Proto: frame.TagC, TCI: 5}, frame.Tag{Proto: frame.TagS, TCI: 9}

func liveKeys() []key {
	var all []key
	for _, at := range live {
		all = append(all, keyOf(at))
	}
	return append(all, keyOf(live[0], tag5), keyOf(live[0], tag9, tag5), keyOf(live[1], tag5))
}

// loaded returns the program, with ports at live and with a socket on queue 0.
func loaded(t *testing.T) *program {
	t.Helper()
	need.Root(t, "loading XDP programs")
	p, err := loadProgram(2, 16, true)
	must(t, err)
	t.Cleanup(p.close)
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	must(t, p.setSocket(0, fd))
	must(t, p.setLimit(1500, false))
	for _, k := range liveKeys() {
		must(t, p.setPort(k))
	}
	return p
}

// action runs the program on a packet and returns its result. The program must not change the packet.
func action(t testing.TB, p *program, b []byte) uint32 {
	t.Helper()
	out := make([]byte, len(b)+64)
	opt := &ebpf.RunOptions{Data: b, DataOut: out}
	n, err := p.prog.Run(opt)
	must(t, err)
	if string(opt.DataOut) != string(b) {
		t.Fatalf("the program changed %x to %x", b, opt.DataOut)
	}
	return n
}

// udpTo returns a packet of 100 bytes.
func udpTo(t testing.TB, to netip.AddrPort, tags ...frame.Tag) []byte {
	from := netip.MustParseAddrPort("10.1.2.9:5")
	if to.Addr().Is6() {
		from = netip.MustParseAddrPort("[fd00::9]:5")
	}
	return packet(t, &place{mac: frame.MAC{2, 0, 0, 0, 0, 1}}, &place{mac: frame.MAC{2, 0, 0, 0, 0, 2}}, from, to,
		pattern(100, 0), tags...)
}

// changed returns a copy of a packet with other bytes at an offset.
func changed(b []byte, at int, with ...byte) []byte {
	b = append([]byte(nil), b...)
	copy(b[at:], with)
	return b
}

func TestProgram(t *testing.T) {
	p := loaded(t)
	v4, v6 := udpTo(t, live[0]), udpTo(t, live[1])
	one4, two4, one6 := udpTo(t, live[0], tag5), udpTo(t, live[0], tag9, tag5), udpTo(t, live[1], tag5)
	insert := func(b []byte, at int, with ...byte) []byte {
		return append(append(append([]byte(nil), b[:at]...), with...), b[at:]...)
	}
	mapped := changed(v6, etherLen+24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3)
	for _, c := range []struct {
		name string
		b    []byte
		want uint32
	}{
		{"IPv4", v4, xdpRedirect},
		{"IPv6", v6, xdpRedirect},
		{"VLAN, IPv4", one4, xdpRedirect},
		{"two tags, IPv4", two4, xdpRedirect},
		{"VLAN, IPv6", one6, xdpRedirect},
		{"another VLAN", udpTo(t, live[0], frame.Tag{Proto: frame.TagC, TCI: 6}), xdpPass},
		{"the number with another kind of tag", udpTo(t, live[0], frame.Tag{Proto: frame.TagS, TCI: 5}), xdpPass},
		{"a VLAN in which only another address is live", udpTo(t, live[2], tag5), xdpPass},
		{"two tags, the other way round", udpTo(t, live[0], tag5, tag9), xdpPass},
		{"two tags, of which one is enough", udpTo(t, live[1], tag9, tag5), xdpPass},
		{"priority in a VLAN", udpTo(t, live[0], frame.Tag{Proto: frame.TagC, TCI: 7<<13 | 5}), xdpRedirect},
		{"priority only", udpTo(t, live[2], frame.Tag{Proto: frame.TagC, TCI: 7 << 13}), xdpRedirect},
		{"another live port", udpTo(t, live[2]), xdpRedirect},
		{"three tags", insert(two4, 12, 0x81, 0, 0, 1), xdpPass},
		{"another port", udpTo(t, netip.MustParseAddrPort("10.1.2.3:7472")), xdpPass},
		{"another address", udpTo(t, netip.MustParseAddrPort("10.1.2.4:7471")), xdpPass},
		{"another IPv6 address", udpTo(t, netip.MustParseAddrPort("[fd00::8]:7471")), xdpPass},
		{"an IPv4-mapped address in IPv6", mapped, xdpPass},
		{"don't fragment off", changed(v4, etherLen+6, 0, 0), xdpRedirect},
		{"first fragment", changed(v4, etherLen+6, 0x20, 0), xdpPass},
		{"later fragment", changed(v4, etherLen+6, 0, 1), xdpPass},
		{"IPv4 options", changed(v4, etherLen, 0x46), xdpPass},
		{"version 5", changed(v4, etherLen, 0x55), xdpPass},
		{"version 4 in IPv6", changed(v6, etherLen, 0x45), xdpPass},
		{"traffic class", changed(v6, etherLen, 0x6f, 0xff), xdpRedirect},
		{"TCP", changed(v4, etherLen+9, unix.IPPROTO_TCP), xdpPass},
		{"ICMP", changed(v4, etherLen+9, unix.IPPROTO_ICMP), xdpPass},
		{"TCP over IPv6", changed(v6, etherLen+6, unix.IPPROTO_TCP), xdpPass},
		{"hop-by-hop options", changed(v6, etherLen+6, 0), xdpPass},
		{"IPv6 fragment", changed(v6, etherLen+6, unix.IPPROTO_FRAGMENT), xdpPass},
		{"ARP", changed(v4, 12, 0x08, 0x06), xdpPass},
		{"broadcast", changed(v4, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), xdpPass},
		{"multicast", changed(v6, 0, 0x33, 0x33, 0, 0, 0, 1), xdpPass},
		{"as long as allowed", changed(v4, etherLen+2, 0x05, 0xdc), xdpRedirect},
		{"longer", changed(v4, etherLen+2, 0x05, 0xdd), xdpPass},
		{"as long as allowed, IPv6", changed(v6, etherLen+4, 0x05, 0xb4), xdpRedirect},
		{"longer, IPv6", changed(v6, etherLen+4, 0x05, 0xb5), xdpPass},
		{"longest, IPv6", changed(v6, etherLen+4, 0xff, 0xff), xdpPass},
	} {
		if got := action(t, p, c.b); got != c.want {
			t.Errorf("%s: action %d, want %d", c.name, got, c.want)
		}
	}
	for _, whole := range [][]byte{v4, v6, one4, two4, one6} {
		headers := len(whole) - 100
		for n := etherLen; n <= len(whole); n++ {
			want := uint32(xdpPass)
			if n >= headers {
				want = xdpRedirect
			}
			if got := action(t, p, whole[:n]); got != want {
				t.Errorf("cut to %d of %d bytes: action %d", n, len(whole), got)
			}
		}
	}
	must(t, p.deletePort(keyOf(live[0])))
	must(t, p.deletePort(keyOf(live[0]))) // deleting a port that is not there is not an error
	if got := action(t, p, v4); got != xdpPass {
		t.Errorf("closed port: action %d", got)
	}
	must(t, p.xsks.Delete(uint32(0)))
	if got := action(t, p, v6); got != xdpPass {
		t.Errorf("queue without a socket: action %d", got)
	}
}

// TestProgramRuns: in generic mode a packet whose checksum is the sum of the pseudo header may be several datagrams
// in one piece, unless it is short. It goes to the kernel.
func TestProgramRuns(t *testing.T) {
	p := loaded(t)
	for _, to := range live[:2] {
		from, header := netip.MustParseAddrPort("10.1.2.9:5"), ip4Len
		if to.Addr().Is6() {
			from, header = netip.MustParseAddrPort("[fd00::9]:5"), ip6Len
		}
		for _, tags := range [][]frame.Tag{nil, {tag5}} {
			for _, n := range []int{runMin, runMin + 1, 3001} {
				b := packet(t, &place{mac: frame.MAC{2, 0, 0, 0, 0, 1}}, &place{mac: frame.MAC{2, 0, 0, 0, 0, 2}}, from,
					to, pattern(n-header-udpLen, 3), tags...)
				at := etherLen + tagLen*len(tags) + header
				for _, generic := range []bool{true, false} {
					p.generic = generic
					must(t, p.setLimit(9000, false))
					if got := action(t, p, b); got != xdpRedirect {
						t.Errorf("%v, %d bytes, tags %v, generic %v: action %d", to, n, tags, generic, got)
					}
					want := uint32(xdpRedirect)
					if generic && n > runMin {
						want = xdpPass
					}
					if got := action(t, p, unfinished(b, at)); got != want {
						t.Errorf("%v, %d bytes, tags %v, generic %v, unfinished: action %d, want %d", to, n, tags,
							generic, got, want)
					}
				}
			}
		}
	}
}

// TestProgramParts: a packet of several fragments is redirected only to sockets that accept them. The kernel makes
// fragments of packets that are longer than 3,520 bytes (net/bpf/test_run.c, bpf_prog_test_run_xdp).
func TestProgramParts(t *testing.T) {
	p := loaded(t)
	a, b := frame.MAC{2, 0, 0, 0, 0, 1}, frame.MAC{2, 0, 0, 0, 0, 2}
	for _, parts := range []bool{false, true} {
		must(t, p.setLimit(9000, parts))
		for _, n := range []int{100, 3000, 3600, 8000} {
			want := uint32(xdpRedirect)
			if !parts && n > 3520 {
				want = xdpPass
			}
			whole := packet(t, &place{mac: a}, &place{mac: b}, netip.MustParseAddrPort("10.1.2.9:5"), live[0],
				pattern(n, 3))
			if got := action(t, p, whole); got != want {
				t.Errorf("%d bytes, parts %v: action %d, want %d", n, parts, got, want)
			}
		}
	}
}

// unfinished returns a copy of a packet whose checksum is the sum of the pseudo header (udp4_hwcsum of
// net/ipv4/udp.c). The UDP header begins at the given offset.
func unfinished(b []byte, at int) []byte {
	// These are IPv4's addresses, or the ends of IPv6's.
	words := append([]byte{0, protoUDP, b[at+4], b[at+5]}, b[at-8:at]...)
	if at > etherLen+tagLen+ip4Len {
		words = append(words, b[at-32:at-8]...)
	}
	sum := 0
	for i := 0; i < len(words); i += 2 {
		sum += int(binary.BigEndian.Uint16(words[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return changed(b, at+6, byte(sum>>8), byte(sum))
}

// TestProgramAgrees: this process finds the port of each packet that the program redirects. Other packets do not
// matter.
func TestProgramAgrees(t *testing.T) {
	p := loaded(t)
	ports := map[key]bool{}
	for _, k := range liveKeys() {
		ports[k] = true
	}
	bases := [][]byte{udpTo(t, live[0]), udpTo(t, live[1]), udpTo(t, live[0], tag5), udpTo(t, live[0], tag9, tag5)}
	redirected := 0
	rapid.Check(t, func(rt *rapid.T) {
		b := append([]byte(nil), rapid.SampledFrom(bases).Draw(rt, "base")...)
		for range rapid.IntRange(0, 3).Draw(rt, "changes") {
			with := rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{0, 0x08, 0x81, 0x88, 0xa8, 0xdd, 0x86, 17}))
			b[rapid.IntRange(0, len(b)-101).Draw(rt, "at")] = with.Draw(rt, "byte")
		}
		b = b[:rapid.IntRange(etherLen, len(b)).Draw(rt, "length")]
		k, ok := destination(b)
		if action(t, p, b) == xdpRedirect {
			redirected++
			if !ok || !ports[k] {
				rt.Fatalf("%x is redirected, and goes to %x, %v", b, k, ok)
			}
		}
	})
	if redirected == 0 {
		t.Error("nothing was redirected")
	}
}

// FuzzDestination: no frame makes destination read beyond its end.
func FuzzDestination(f *testing.F) {
	for _, at := range live {
		f.Add(udpTo(f, at))
		f.Add(udpTo(f, at, frame.Tag{Proto: frame.TagC, TCI: 1}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		k, ok := destination(b[:len(b):len(b)])
		if ether := binary.BigEndian.Uint16(k[18:]); ok && ether != etherIPv4 && ether != etherIPv6 {
			t.Errorf("%x goes to %x", b, k)
		}
	})
}

// TestProgramQueues: a packet on a queue without a socket goes to the kernel. Such a queue is not used, or was added
// later (ethtool -L).
func TestProgramQueues(t *testing.T) {
	a, _ := places(t, 4, 1500)
	a.Enter()
	p, err := loadProgram(3, 16, true)
	must(t, err)
	t.Cleanup(p.close)
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	for queue := range uint32(2) {
		must(t, p.setSocket(queue, fd))
	}
	must(t, p.setLimit(1500, false))
	must(t, p.setPort(keyOf(live[0])))
	b := udpTo(t, live[0])
	for queue, want := range []uint32{xdpRedirect, xdpRedirect, xdpPass, xdpPass} {
		md := struct{ data, end, meta, ifindex, queue, egress uint32 }{end: uint32(len(b)),
			ifindex: uint32(a.Interface("eth9").Index), queue: uint32(queue)}
		got, err := p.prog.Run(&ebpf.RunOptions{Data: b, DataOut: make([]byte, len(b)+64), Context: md})
		must(t, err)
		if got != want {
			t.Errorf("queue %d: action %d, want %d", queue, got, want)
		}
	}
}
