//go:build linux

package xdp

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// pattern returns bytes that depend on their position and on seed.
func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)*7 + byte(i>>8) + seed
	}
	return b
}

// TestToSocket sends in both directions between a port and a plain socket, in every mode and for every relevant size.
// In generic mode a packet that is longer than one datagram may be a run, for any MTU. It goes to the port's socket.
func TestToSocket(t *testing.T) {
	for _, mode := range []Mode{Driver, Generic} {
		for _, mtu := range []int{1500, 3490, 9000} {
			t.Run(fmt.Sprintf("%v/%d", mode, mtu), func(t *testing.T) {
				a, b := places(t, 1, mtu)
				for _, addrs := range [][2]netip.Addr{{a.v4, b.v4}, {a.v6, b.v6}} {
					mine, theirs := netip.AddrPortFrom(addrs[0], 7001), netip.AddrPortFrom(addrs[1], 7002)
					i, p := openPort(t, a, Config{Mode: mode, ZeroCopy: ZeroCopyOff}, mine)
					if i.Mode() != mode {
						t.Errorf("%v", i)
					}
					s, plain := listen(t, b, theirs), listen(t, a, mine)
					headers := ip4Len + udpLen
					if mine.Addr().Is6() {
						headers = ip6Len + udpLen
					}
					buf := make([]byte, 1<<16)
					for _, n := range []int{0, 1, 64, 1400, mtu - headers} {
						want := pattern(n, 1)
						put(t, p, packet(t, a, b, mine, theirs, want))
						n, from, err := s.ReadFromUDPAddrPort(buf)
						must(t, err)
						if from.Port() != mine.Port() || from.Addr().Unmap() != mine.Addr() ||
							!bytes.Equal(buf[:n], want) {
							t.Fatalf("%d bytes from %v, want %d", n, from, len(want))
						}
						want = pattern(len(want), 2)
						_, err = s.WriteToUDPAddrPort(want, mine)
						must(t, err)
						if mode == Generic && n+headers > runMin {
							n, err := plain.Read(buf)
							must(t, err)
							if !bytes.Equal(buf[:n], want) {
								t.Fatalf("%d bytes, want %d", n, len(want))
							}
							continue
						}
						got := take(t, p, 1)
						if len(got) != 1 || !bytes.Equal(payloadOf(t, got[0]), want) {
							t.Fatalf("%d packets, the first of %d bytes, want %d", len(got), len(got[0]), len(want))
						}
					}
					if st, err := i.Stats(); err != nil || st != (Stats{}) {
						t.Errorf("%+v, %v", st, err)
					}
				}
			})
		}
	}
}

// TestRuns: a run from a plain socket (UDP_SEGMENT) arrives as its datagrams. In driver mode the other end of the
// cable splits the run. In generic mode the run arrives as one packet, which the program leaves to the kernel even if
// it is shorter than the MTU.
func TestRuns(t *testing.T) {
	for _, c := range []struct {
		mode       Mode
		mtu        int
		seg, count int
	}{{Driver, 1500, 1000, 10}, {Generic, 1500, 1000, 10}, {Driver, 9000, 1000, 5}, {Generic, 9000, 1000, 5},
		{Generic, 9000, 740, 2}, {Generic, 3490, 1000, 2}} {
		mode, seg, count := c.mode, c.seg, c.count
		a, b := places(t, 1, c.mtu)
		for _, addrs := range [][2]netip.Addr{{a.v4, b.v4}, {a.v6, b.v6}} {
			at := netip.AddrPortFrom(addrs[0], 7001)
			_, p := openPort(t, a, Config{Mode: mode}, at)
			plain := listen(t, a, at)
			s := listen(t, b, netip.AddrPortFrom(addrs[1], 7000))
			raw, err := s.SyscallConn()
			must(t, err)
			must(t, raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, seg) }))
			must(t, err)
			data := pattern(seg*count, 4)
			_, err = s.WriteToUDPAddrPort(data, at)
			must(t, err)
			var got [][]byte
			if mode == Driver {
				for _, b := range take(t, p, count) {
					got = append(got, payloadOf(t, b))
				}
			} else {
				buf := make([]byte, 1<<16)
				for range count {
					n, err := plain.Read(buf)
					must(t, err)
					got = append(got, bytes.Clone(buf[:n]))
				}
			}
			if !bytes.Equal(bytes.Join(got, nil), data) || len(got) != count || len(got[0]) != seg {
				t.Errorf("%+v: %d datagrams, the first of %d bytes", c, len(got), len(got[0]))
			}
			var f [4]Frame
			if n := p.Receive(f[:]); n != 0 {
				t.Errorf("%+v: %d packets more", c, n)
			}
		}
	}
}
