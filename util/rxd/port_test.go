package rxd_test

import (
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/batch/batchtest"
	"gofabric/internal/transport/datagram"
	"gofabric/test/duo"
	"gofabric/test/wait"
	"gofabric/util/rxd"
)

// fakePort is a port whose sends take time by the scheduler's clock. It records the calls of Expect.
type fakePort struct {
	datagram.Port
	clock    atomic.Pointer[batchtest.Host]
	sends    atomic.Int64
	expected []netip.AddrPort
}

func (p *fakePort) Send(dest netip.AddrPort, parts [][]byte, seg int) error {
	p.sends.Add(1)
	if clock := p.clock.Load(); clock != nil {
		clock.Advance(batch.Delay + batch.Delay/2)
	}
	return p.Port.Send(dest, parts, seg)
}

func (p *fakePort) Expect(dest netip.AddrPort) { p.expected = append(p.expected, dest) }

// openFake opens a domain whose endpoints use fake ports, which it adds to the list.
func openFake(t *testing.T) (s *duo.Side, ports *[]*fakePort) {
	t.Helper()
	hints := core.NewHints()
	hints.Fabric.ProvName, hints.EP.Type, hints.Caps = "udp;ofi_rxd", core.EPTypeRDM, core.CapMsg
	hints.Domain.DataProgress = core.ProgressManual // the test makes all passes
	infos, _, err := gofabric.GetInfo(core.Query{Version: core.LibraryVersion, Node: "127.0.0.1", Flags: core.InfoSource, Hints: hints})
	duo.Check(t, err)
	info := infos[0]
	s, ports = &duo.Side{}, new([]*fakePort)
	s.Fabric, err = gofabric.OpenFabric(info)
	duo.Check(t, err)
	t.Cleanup(func() { duo.Check(t, s.Fabric.Close()) })
	s.Domain, err = s.Fabric.OpenDomain(info)
	duo.Check(t, err)
	t.Cleanup(func() { duo.Check(t, s.Domain.Close()) })
	rxd.ChangePorts(s.Domain, func(p datagram.Port) datagram.Port {
		f := &fakePort{Port: p}
		*ports = append(*ports, f)
		return f
	})
	s.CQ, err = s.Domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged})
	duo.Check(t, err)
	t.Cleanup(func() { duo.Check(t, s.CQ.Close()) })
	s.AV, err = s.Domain.OpenAV(core.AVAttr{})
	duo.Check(t, err)
	t.Cleanup(func() { duo.Check(t, s.AV.Close()) })
	s.EP, err = s.Domain.OpenEndpoint(info)
	duo.Check(t, err)
	t.Cleanup(func() { duo.Check(t, s.EP.Close()) })
	return s, ports
}

// TestExpects: the port is informed of addresses that are in the vector already, both if the vector is bound first
// and if the port is opened first.
func TestExpects(t *testing.T) {
	s, ports := openFake(t)
	peer := netip.MustParseAddrPort("127.0.0.1:7471")
	insert := func(a netip.AddrPort) {
		t.Helper()
		_, err := s.AV.Insert([]core.Addr{core.IPAddr(a)}, nil, 0)
		duo.Check(t, err)
	}
	want := func(when string, addrs ...netip.AddrPort) {
		t.Helper()
		if got := (*ports)[len(*ports)-1].expected; !slices.Equal(got, addrs) {
			t.Errorf("%s, the port expects %v, want %v", when, got, addrs)
		}
	}
	insert(peer)
	want("before the vector is bound")
	duo.Check(t, s.EP.BindAV(s.AV, 0))
	want("after it was bound", peer)
	duo.Check(t, s.EP.SetName(core.IPAddr(netip.MustParseAddrPort("127.0.0.1:0"))))
	if len(*ports) != 2 {
		t.Fatalf("%d ports after SetName, want 2", len(*ports))
	}
	want("after SetName", peer)
	other := netip.MustParseAddrPort("127.0.0.1:7472")
	insert(other)
	want("after another one was inserted", peer, other)
}

// TestBurstTakesTime: an endpoint reports to the scheduler what it has transmitted within a burst, so that the time
// of its system calls does not count as a pause of the application (rule 7 of package batch).
func TestBurstTakesTime(t *testing.T) {
	s, ports := openFake(t)
	duo.Check(t, s.EP.BindCQ(s.CQ, core.BindTransmit|core.BindRecv))
	duo.Check(t, s.EP.BindAV(s.AV, 0))
	duo.Check(t, s.EP.Enable())
	y := duo.Open(t, "udp;ofi_rxd", core.EPTypeRDM, make([]byte, 64))
	duo.Know(t, s, y)
	const size, count = 3000, 10 // the ninth message exceeds the limits, and the tenth remains
	buf, in := make([]byte, size), make([]byte, size)
	port := (*ports)[0]
	clock := rxd.TakeClock(s.EP)
	for good, bad, round := 0, 0, 0; good < 8; round++ {
		for range count {
			duo.Check(t, y.EP.Recv(in, 0, core.AddrUnspec, 0))
		}
		port.clock.Store(clock)
		sends, posted := port.sends.Load(), 0
		for ; posted < count; posted++ {
			if err := s.EP.Send(buf, 0, s.Peer, 0); err == core.ErrAgain {
				break // the window is full
			} else {
				duo.Check(t, err)
			}
		}
		port.clock.Store(nil)
		waits, _ := rxd.Gathers(s.EP)
		within := port.sends.Load() - sends
		n, err := s.Read() // a pass
		duo.Check(t, err)
		_, away := rxd.Gathers(s.EP)
		switch { // otherwise the first message left alone, or the window was full
		case within > 0 && waits && away: // this can happen once: a timer sent a datagram that was not reported
			if bad++; bad == 4 {
				t.Fatalf("burst %d: batch takes the application for away, as in three bursts before; %d bursts were correct", round, good)
			}
		case within > 0 && waits:
			good++
		case round == 1000:
			t.Fatal("no round sends a part of a burst before the rest")
		}
		sent, received := count-n, count
		wait.Until(t, "the burst arrives", func() bool {
			for ; posted < count; posted++ {
				if err := s.EP.Send(buf, 0, s.Peer, 0); err == core.ErrAgain {
					break
				} else {
					duo.Check(t, err)
				}
			}
			n, err := s.Read()
			duo.Check(t, err)
			m, err := y.Read()
			duo.Check(t, err)
			sent, received = sent-n, received-m
			return sent == 0 && received == 0
		})
	}
}
