package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// frame is a TCP segment in an Ethernet frame.
func frame(t testing.TB, src, dst netip.AddrPort, seq uint32, syn bool, payload []byte) []byte {
	t.Helper()
	eth := &layers.Ethernet{SrcMAC: make(net.HardwareAddr, 6), DstMAC: make(net.HardwareAddr, 6), EthernetType: layers.EthernetTypeIPv4}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(src.Port()), DstPort: layers.TCPPort(dst.Port()), Seq: seq, SYN: syn, ACK: true}
	var ip gopacket.SerializableLayer
	if src.Addr().Is4() {
		v4 := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: src.Addr().AsSlice(), DstIP: dst.Addr().AsSlice()}
		_ = tcp.SetNetworkLayerForChecksum(v4)
		ip = v4
	} else {
		eth.EthernetType = layers.EthernetTypeIPv6
		v6 := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolTCP, SrcIP: src.Addr().AsSlice(), DstIP: dst.Addr().AsSlice()}
		_ = tcp.SetNetworkLayerForChecksum(v6)
		ip = v6
	}
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, eth, ip, tcp, gopacket.Payload(payload)); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

var (
	hostA = netip.MustParseAddrPort("10.0.0.1:1000")
	hostB = netip.MustParseAddrPort("10.0.0.2:7471")
	host6 = netip.MustParseAddrPort("[fd00::1]:1000")
	peer6 = netip.MustParseAddrPort("[fd00::2]:7471")
	when  = time.Date(2024, 2, 3, 4, 5, 6, 789000, time.UTC)
)

func info(n, captured int) gopacket.CaptureInfo {
	return gopacket.CaptureInfo{Timestamp: when, Length: n, CaptureLength: captured}
}

// classic and ng make captures of the frames. In classic the last frame is cut to its first bytes.
func classic(t testing.TB, cut int, frames ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriter(&b)
	if err := w.WriteFileHeader(65536, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		n := len(f)
		if i == len(frames)-1 {
			n -= cut
		}
		if err := w.WritePacket(info(len(f), n), f[:n]); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func ng(t testing.TB, frames ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := pcapgo.NewNgWriter(&b, layers.LinkTypeEthernet)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if err := w.WritePacket(info(len(f), len(f)), f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// all reads a capture to its end.
func all(b []byte) (list []Packet, err error) {
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	for {
		p, err := r.Next()
		if err != nil {
			return list, err
		}
		list = append(list, p)
	}
}

func TestReader(t *testing.T) {
	frames := [][]byte{frame(t, hostA, hostB, 1, true, nil), frame(t, host6, peer6, 5, false, []byte("six")), frame(t, hostA, hostB, 2, false, []byte("hello world"))}
	for _, tc := range []struct {
		name string
		b    []byte
		cut  int
	}{
		{"pcap", classic(t, 0, frames...), 0},
		{"pcap, cut packet", classic(t, 6, frames...), 6},
		{"pcapng", ng(t, frames...), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := all(tc.b)
			if err != io.EOF || len(got) != 3 {
				t.Fatalf("%d packets, %v", len(got), err)
			}
			if p := got[0]; p.Proto != TCP || !p.SYN || p.Src != hostA || p.Dst != hostB || p.Seq != 1 ||
				!p.Time.Equal(when) {
				t.Errorf("first: %+v", p)
			}
			if p := got[1]; p.Src != host6 || string(p.Payload) != "six" {
				t.Errorf("second: %+v", p)
			}
			if p := got[2]; string(p.Payload) != "hello world"[:11-tc.cut] || p.Missing != tc.cut {
				t.Errorf("third: %+v", p)
			}
		})
	}
}

// TestLinuxCookedV2 reads link types that do not fit into gopacket's 8 bits.
func TestLinuxCookedV2(t *testing.T) {
	eth := frame(t, hostA, hostB, 9, false, []byte("x"))
	sll := append([]byte{8, 0, 0, 0, 0, 0, 0, 1, 3, 4, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0}, eth[14:]...)
	for name, b := range map[string][]byte{"pcap": classic(t, 0, sll), "pcapng": ng(t, sll)} {
		link := 20 // the position of the link type
		if name == "pcapng" {
			link = int(binary.LittleEndian.Uint32(b[4:])) + 8 // in the block after the section header
		}
		b[link], b[link+1] = registrySLL2&255, registrySLL2>>8
		got, err := all(b)
		if err != io.EOF || len(got) != 1 || got[0].Src != hostA || string(got[0].Payload) != "x" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestCutFiles: a file that ends at any byte gives its complete packets, and an error unless it ends between
// packets.
func TestCutFiles(t *testing.T) {
	frames := [][]byte{frame(t, hostA, hostB, 1, true, nil), frame(t, hostA, hostB, 2, false, []byte("hello world"))}
	for name, b := range map[string][]byte{"pcap": classic(t, 0, frames...), "pcapng": ng(t, frames...)} {
		clean := 0
		for n := range b {
			got, err := all(b[:n])
			if err == nil {
				t.Fatalf("%s cut to %d bytes: no error", name, n)
			}
			if len(got) > 1 {
				t.Errorf("%s cut to %d bytes: %d packets", name, n, len(got))
			}
			if err == io.EOF {
				clean++
			}
		}
		most := 2 // before and between the packets
		if name == "pcapng" {
			most = 8 // and between other blocks
		}
		if clean > most {
			t.Errorf("%s: %d cuts gave no error", name, clean)
		}
	}
}

func TestDamagedLengths(t *testing.T) {
	b := classic(t, 0, frame(t, hostA, hostB, 1, false, []byte("x")))
	copy(b[16:], "\xff\xff\xff\xff") // snaplen
	copy(b[32:], "\xf0\xff\xff\xff\xf0\xff\xff\xff")
	if _, err := all(b); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("pcap: %v", err)
	}
	b = ng(t, frame(t, hostA, hostB, 1, false, []byte("x")))
	i := bytes.LastIndex(b, []byte{6, 0, 0, 0}) // the packet block
	copy(b[i+20:], "\xf0\xff\xff\xff")
	if _, err := all(b); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("pcapng: %v", err)
	}
}

func FuzzReader(f *testing.F) {
	frames := [][]byte{frame(f, hostA, hostB, 1, true, nil), frame(f, host6, peer6, 2, false, []byte("hello"))}
	f.Add(classic(f, 0, frames...))
	f.Add(classic(f, 3, frames...))
	f.Add(ng(f, frames...))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, _ := all(b)
		a := Assembler{Open: func(netip.AddrPort, netip.AddrPort, bool) Sink { return &recorder{} }}
		for i := range got {
			a.Packet(&got[i])
		}
		a.Flush()
		if a.held != 0 {
			t.Errorf("%d bytes are still held", a.held)
		}
	})
}
