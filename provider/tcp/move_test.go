//go:build linux && !fabricbasic

package tcp

// Streams that move to a local socket, and messages that are copied out of the sender's memory.

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/internal/netx"
	"gofabric/internal/samehost"
	"gofabric/internal/trust"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// couple is two endpoints in separate domains.
type couple struct {
	t  *testing.T
	f  [2]*core.Fabric
	d  [2]*dom
	ep [2]*rdm
	to [2]core.FIAddr
}

func newCouple(t *testing.T, env map[string]string) *couple {
	t.Helper()
	return newCoupleAt(t, env, [2]string{"127.0.0.1", "127.0.0.1"})
}

func newCoupleAt(t *testing.T, env map[string]string, at [2]string) *couple {
	t.Helper()
	c := &couple{t: t}
	for i := range 2 {
		f, d, info := fixture(t, core.EPTypeRDM, env)
		info.SrcAddr = core.IPAddr(netip.AddrPortFrom(netip.MustParseAddr(at[i]), 0))
		info.Tx.OpFlags = 0 // the flags of an Info are capabilities; buffers of FI_INJECT would be copied
		c.f[i], c.d[i], c.ep[i] = f, d, openEndpoint(t, d, info)
	}
	for i := range 2 {
		name, err := c.ep[1-i].Name()
		must(t, err)
		fi := make([]core.FIAddr, 1)
		_, err = c.ep[i].v.Insert([]core.Addr{name}, fi, 0)
		must(t, err)
		c.to[i] = fi[0]
	}
	return c
}

func (c *couple) close() {
	c.t.Helper()
	for i := range 2 {
		c.ep[i].closeAll(c.t)
		must(c.t, c.d[i].Close())
		must(c.t, c.f[i].Close())
	}
}

// exchange sends messages of these sizes in both directions at once and checks them.
func (c *couple) exchange(n int, size func(i int) int) {
	t := c.t
	t.Helper()
	pattern := func(side, i int) []byte {
		b := make([]byte, size(i))
		for k := range b {
			b[k] = byte(k*7 + i + side)
		}
		return b
	}
	var in [2][][]byte
	for s := range 2 {
		for i := range n {
			in[s] = append(in[s], make([]byte, size(i)))
			must(t, c.ep[s].Recv(in[s][i], 0, core.AddrUnspec, 1))
		}
	}
	posted, done := [2]int{}, [2]int{}
	es := make([]core.CQEntry, 64)
	for end := time.Now().Add(bound); done[0] < 2*n || done[1] < 2*n; {
		for s := range 2 {
			for posted[s] < n {
				err := c.ep[s].Send(pattern(s, posted[s]), 0, c.to[s], 2)
				if errors.Is(err, core.ErrAgain) {
					break
				}
				must(t, err)
				posted[s]++
			}
			k, err := c.ep[s].q.Read(es)
			if err != nil && !errors.Is(err, core.ErrAgain) {
				t.Fatal(err)
			}
			done[s] += k
		}
		if time.Now().After(end) {
			t.Fatalf("completions: %v of %d each", done, 2*n)
		}
	}
	for s := range 2 {
		for i, b := range in[s] {
			if !bytes.Equal(b, pattern(1-s, i)) {
				t.Fatalf("side %d, message %d of %d bytes differs", s, i, len(b))
			}
		}
	}
}

// streams returns the connections of both sides. An endpoint may have two for a moment, if both ends connected at
// once.
func (c *couple) streams() (list []*tcpStream) {
	for s := range 2 {
		c.d[s].drv.prog.Lock()
		for p := range c.ep[s].drv.Each {
			list = append(list, p.Stream.(*tcpStream))
		}
		c.d[s].drv.prog.Unlock()
	}
	return list
}

func local(t *testing.T, s *tcpStream) bool {
	t.Helper()
	s.prog.Lock()
	defer s.prog.Unlock()
	sa, err := unix.Getsockname(int(s.carrier.socket()))
	must(t, err)
	_, yes := sa.(*unix.SockaddrUnix)
	return yes
}

// TestMove makes streams move during traffic of all kinds. No message is lost, duplicated or reordered.
func TestMove(t *testing.T) {
	for name, size := range map[string]func(int) int{
		"small": func(int) int { return 64 },
		"mixed": func(i int) int { return []int{0, 64, 64, 5000, 64, 100_000, 3}[i%7] },
		"large": func(int) int { return 300_000 },
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				c := newCouple(t, map[string]string{"FI_TCP_SINGLE_COPY_SIZE": "-1"})
				for range 4 {
					c.exchange(40, size)
				}
				list := c.streams()
				if len(list) != 2 {
					t.Fatalf("%d connections", len(list))
				}
				for i, s := range list {
					moved := local(t, s)
					s.prog.Lock()
					if !moved || s.moving != nil || s.move != moveNever {
						t.Errorf("stream %d has not moved: state %d", i, s.move)
					}
					s.prog.Unlock()
				}
				for _, d := range c.d {
					d.drv.prog.Lock()
					if m := d.drv.bufs.mover; len(m.offers) != 0 || m.listener != nil && m.listener.Pending() != 0 {
						t.Errorf("%d offers, or connections without a token, are left over", len(m.offers))
					}
					d.drv.prog.Unlock()
				}
				c.close()
			}
		})
	}
}

// ownAddress returns an address of this host that is not loopback, "" if there is none.
func ownAddress(t *testing.T) string {
	t.Helper()
	list, err := netx.Interfaces()
	must(t, err)
	for _, i := range list {
		if i.Addr.Is4() && !i.Addr.IsLoopback() {
			return i.Addr.String()
		}
	}
	return ""
}

// TestMoveBetweenAddresses: a stream between two ends on one host moves for each pair of the host's addresses, and
// for each end that opens the connection.
func TestMoveBetweenAddresses(t *testing.T) {
	pairs := [][2]string{{"127.0.0.1", "127.0.0.2"}}
	if own := ownAddress(t); own != "" {
		pairs = append(pairs, [2]string{"127.0.0.1", own}, [2]string{own, "127.0.0.1"})
	}
	for _, at := range pairs {
		t.Run(at[0]+" "+at[1], func(t *testing.T) {
			c := newCoupleAt(t, nil, at)
			defer c.close()
			for range 4 {
				c.exchange(40, func(int) int { return 64 })
			}
			for i, s := range c.streams() {
				if !local(t, s) {
					t.Errorf("stream %d from %v to %v has not moved", i, s.local, s.peer)
				}
			}
		})
	}
}

// TestNoMove: streams that must not move stay on TCP.
func TestNoMove(t *testing.T) {
	c := newCouple(t, map[string]string{"FI_TCP_LOCAL_SOCKETS": "0"})
	defer c.close()
	c.exchange(200, func(int) int { return 64 })
	for _, s := range c.streams() {
		if local(t, s) {
			t.Error("a stream has moved though it must not")
		}
	}
}

// TestUninvited makes local connections without an offer: with an unknown token, with invalid data, and without
// data. They are closed, and existing peers are not affected.
func TestUninvited(t *testing.T) {
	c := newCouple(t, nil)
	defer c.close()
	for _, d := range c.d {
		d.drv.prog.Lock()
		if !d.drv.bufs.mover.listen() {
			t.Fatal("the endpoint does not listen on a local socket")
		}
		name := socketName(d.drv.bufs.mover.name)
		d.drv.prog.Unlock()
		for i := range uninvitedMax / 2 {
			local, err := samehost.Dial(trust.Stream, name)
			must(t, err)
			defer local.Close()
			switch i % 3 {
			case 0:
				must(t, local.Greet(make([]byte, wire.NameLen), i%2 == 0))
			case 1:
				netx.Send(local.FD(), make([]byte, wire.NameLen), false)
			}
		}
	}
	for range 4 {
		c.exchange(40, func(int) int { return 64 })
	}
	for i, s := range c.streams() {
		if !local(t, s) {
			t.Errorf("stream %d has not moved", i)
		}
	}
}

// TestBadOffers sends invalid messages of a move. An offer of an unknown socket has no effect. "moved" without an
// offer ends the connection.
func TestBadOffers(t *testing.T) {
	c := newCouple(t, nil)
	defer c.close()
	c.exchange(1, func(int) int { return 8 })
	list := c.streams()
	say := func(s *tcpStream, b []byte) {
		s.prog.Lock()
		s.conn.Say(b)
		s.flush()
		s.prog.Unlock()
	}
	nowhere := wire.Offer{Name: [wire.NameLen]byte{1, 2, 3}}
	say(list[0], nowhere.Append(nil))
	say(list[1], nowhere.Append(nil))
	c.exchange(10, func(int) int { return 8 })
	say(list[0], wire.AppendMoved(nil, false))
	eventually(t, list[1].prog, "the connection ends", func() bool { return list[1].conn.State() == engine.Closed })
	eventually(t, list[0].prog, "the connection ends at the other end, too", func() bool {
		return list[0].conn.State() == engine.Closed
	})
	c.ep[0].q.Read(nil)
}

// TestSingleCopy sends large messages whose bytes do not pass through the socket: the receiver copies them out of
// the sender's memory.
func TestSingleCopy(t *testing.T) {
	const size, n = 1 << 20, 20
	for _, tc := range []struct {
		env    string
		direct bool
	}{{"32768", true}, {"-1", false}} {
		t.Run(fmt.Sprint(tc.direct), func(t *testing.T) {
			c := newCouple(t, map[string]string{"FI_TCP_SINGLE_COPY_SIZE": tc.env})
			defer c.close()
			// The first one asks for single copies, and passes through the socket.
			c.exchange(2, func(int) int { return size })
			count := func() (sum uint64) {
				for _, s := range c.streams() {
					s.prog.Lock()
					sum += s.conn.BytesOut
					s.prog.Unlock()
				}
				return sum
			}
			before := count()
			c.exchange(n, func(int) int { return size })
			switch sent := count() - before; {
			case tc.direct && sent > 2*n*200:
				t.Errorf("%d messages of %d bytes put %d bytes on the sockets, want their announcements only",
					2*n, size, sent)
			case !tc.direct && sent < 2*n*size:
				t.Errorf("%d messages of %d bytes put only %d bytes on the sockets", 2*n, size, sent)
			}
		})
	}
}
