package frame

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
)

// TestInit has configurations for which no header can be built.
func TestInit(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   error
	}{
		{"nothing", func(c *Config) { *c = Config{} }, ErrAddress},
		{"no source", func(c *Config) { c.Src = netip.AddrPort{} }, ErrAddress},
		{"two families", func(c *Config) { c.Src = sixA }, ErrAddress},
		{"mapped", func(c *Config) { c.Src = netip.MustParseAddrPort("[::ffff:10.9.0.1]:7000") }, nil},
		{"inner tag only", func(c *Config) { c.Tags[1] = Tag{TagC, 1} }, ErrTags},
		{"tag of IPv4", func(c *Config) { c.Tags[0] = Tag{typeIPv4, 1} }, ErrTags},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := config4()
			tc.change(&c)
			var h Header
			if err := h.Init(&c); err != tc.want {
				t.Errorf("%v, want %v", err, tc.want)
			} else if err != nil && (h.Len() != 0 || h.Put(make([]byte, 100), nil, 0) != 0) {
				t.Error("the header is usable although Init has failed")
			}
		})
	}
}

// TestPutBounds tries buffers that are just too short, and payload that is just too long.
func TestPutBounds(t *testing.T) {
	for _, c := range []Config{config4(), config6()} {
		h := header(t, c)
		limit := h.MaxPayload(1 << 20)
		big := pattern(limit + 1)
		buf := make([]byte, h.Len()+len(big))
		var s Sum
		s.Add(big[:limit])
		if n := h.Put(buf, big, 0); n != 0 {
			t.Errorf("%d bytes of payload were accepted", len(big))
		}
		if n := h.Seal(buf, len(big), &s, 0); n != 0 {
			t.Errorf("%d bytes of payload were sealed", len(big))
		}
		var d Datagram
		n := h.Put(buf, big[:limit], 0)
		if why := new(Rules).Parse(&d, buf[:n]); why != Accepted || d.Len != limit {
			t.Errorf("%d bytes of payload: %v", limit, why)
		}
		for short := range h.Len() + 5 {
			if n := h.Put(buf[:short], big[:5], 0); n != 0 {
				t.Errorf("%d bytes put into %d", n, short)
			}
			if n := h.Seal(buf[:short], 5, &s, 0); short < h.Len() && n != 0 || short >= h.Len() && n != h.Len() {
				t.Errorf("%d bytes sealed in %d", n, short)
			}
		}
		if n := h.Put(buf[:h.Len()+5], big[:5], 0); n != h.Len()+5 {
			t.Errorf("%d bytes, although the buffer is just long enough", n)
		}
	}
}

// TestMaxPayload compares with the payload of a packet of that size.
func TestMaxPayload(t *testing.T) {
	four, six := header(t, config4()), header(t, config6())
	for _, tc := range []struct {
		h         *Header
		mtu, want int
	}{
		{four, 1500, 1472}, {six, 1500, 1452}, {four, 9000, 8972}, {four, 28, 0}, {four, 0, 0}, {six, 0, 0},
		{four, 1 << 20, 65507}, {six, 1 << 20, 65527}, {six, 65535 + 40, 65527},
	} {
		if n := tc.h.MaxPayload(tc.mtu); n != tc.want {
			t.Errorf("mtu %d: %d, want %d", tc.mtu, n, tc.want)
		}
	}
}

// TestWaysOfPut compares the ways to provide the payload.
func TestWaysOfPut(t *testing.T) {
	payload := pattern(1201)
	for _, c := range []Config{config4(), config6()} {
		h := header(t, c)
		want := make([]byte, 2000)
		want = want[:h.Put(want, payload, 7)]
		inPlace := make([]byte, 2000)
		copy(inPlace[h.Len():], payload)
		if n := h.Put(inPlace, inPlace[h.Len():][:len(payload)], 7); !bytes.Equal(inPlace[:n], want) {
			t.Error("in place: another frame")
		}
		head, tail := make([]byte, h.Len()+333), make([]byte, 1500)
		var s Sum
		n := copy(head[h.Len():], payload)
		copy(tail, payload[n:])
		s.Add(payload[:n])
		s.Add(payload[n:])
		h.Seal(head, len(payload), &s, 7)
		if !bytes.Equal(append(head, tail[:len(payload)-n]...), want) {
			t.Error("sealed: another frame")
		}
	}
}

// TestIdentification tries all 16-bit values of the field that differs between packets. The header's checksum must be
// correct each time.
func TestIdentification(t *testing.T) {
	h := header(t, config4())
	b := make([]byte, 2000)
	for id := range 1 << 16 {
		n := h.Put(b, pattern(id%10), uint16(id))
		if slowSum(b[EthernetLen:EthernetLen+IPv4Len]) != 0xffff ||
			binary.BigEndian.Uint16(b[EthernetLen+4:]) != uint16(id) || n != 42+id%10 {
			t.Fatalf("identification %d: %x", id, b[:n])
		}
	}
}

// TestZeroChecksum finds a payload whose checksum is 0, which would mean that there is none. It is sent as 0xffff and
// accepted.
func TestZeroChecksum(t *testing.T) {
	for _, c := range []Config{config4(), config6()} {
		f := put(t, c, []byte{0, 0})
		check := f[len(f)-4 : len(f)-2]
		f = put(t, c, check) // makes the sum all ones
		if got := binary.BigEndian.Uint16(f[len(f)-4:]); got != 0xffff {
			t.Errorf("checksum %#04x, want 0xffff", got)
		}
		if why := new(Rules).Parse(new(Datagram), f); why != Accepted {
			t.Error(why)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	for _, n := range []int{64, 1400} {
		for _, c := range []Config{config4(), config6()} {
			b.Run(fmt.Sprintf("%d/%v", n, c.Dst.Addr().Is6()), func(b *testing.B) {
				h, buf, payload := header(b, c), make([]byte, 2048), pattern(n)
				for id := uint16(0); b.Loop(); id++ {
					h.Put(buf, payload, id)
				}
			})
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{64, 1400} {
		for _, c := range []Config{config4(), config6()} {
			b.Run(fmt.Sprintf("%d/%v", n, c.Dst.Addr().Is6()), func(b *testing.B) {
				f, r := put(b, c, pattern(n)), &Rules{MAC: macB}
				var d Datagram
				for b.Loop() {
					if why := r.Parse(&d, f); why != Accepted {
						b.Fatal(why)
					}
				}
			})
		}
	}
}
