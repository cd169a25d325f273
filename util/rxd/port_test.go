package rxd_test

import (
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
	"gofabric/internal/transport/datagram"
	"gofabric/test/duo"
	"gofabric/util/rxd"
)

// fakePort is a port that takes its time to send, and remembers what was expected of it.
type fakePort struct {
	datagram.Port
	spend    atomic.Int64 // ns
	sends    atomic.Int64
	expected []netip.AddrPort
}

func (p *fakePort) Send(dest netip.AddrPort, parts [][]byte, seg int) error {
	p.sends.Add(1)
	for begin := time.Now(); time.Since(begin) < time.Duration(p.spend.Load()); { // on this processor, as the system does
	}
	return p.Port.Send(dest, parts, seg)
}

func (p *fakePort) Expect(dest netip.AddrPort) { p.expected = append(p.expected, dest) }

// openFake opens a domain whose endpoints stand on fake ports, which it adds to the list.
func openFake(t *testing.T) (s *duo.Side, ports *[]*fakePort) {
	t.Helper()
	hints := core.NewHints()
	hints.Fabric.ProvName, hints.EP.Type, hints.Caps = "udp;ofi_rxd", core.EPTypeRDM, core.CapMsg
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

// TestExpects: the port hears of the addresses that the vector has already, whenever vector and port meet.
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

// TestBurstTakesTime: when sending a part of a burst takes long, the application is not thought to stay away; not once in several bursts, for that makes the next one leave
// otherwise.
func TestBurstTakesTime(t *testing.T) {
	s, ports := openFake(t)
	duo.Check(t, s.EP.BindCQ(s.CQ, core.BindTransmit|core.BindRecv))
	duo.Check(t, s.EP.BindAV(s.AV, 0))
	duo.Check(t, s.EP.Enable())
	y := duo.Open(t, "udp;ofi_rxd", core.EPTypeRDM, make([]byte, 64))
	duo.Know(t, s, y)
	const size, count = 3000, 10 // the ninth makes it more than waits for company, and one is left then
	buf, in := make([]byte, size), make([]byte, size)
	port := (*ports)[0]
	for good, end := 0, time.Now().Add(10*time.Second); ; {
		before, posted := port.sends.Load(), 0
		for ; posted < count; posted++ {
			if err := s.EP.Send(buf, 0, s.Peer, 0); err == core.ErrAgain {
				break // there is no room at the receiver
			} else {
				duo.Check(t, err)
			}
		}
		staged, _ := rxd.Gathers(s.EP)
		within := port.sends.Load() - before
		n, err := s.Read()
		duo.Check(t, err)
		_, late := rxd.Gathers(s.EP)
		switch {
		case posted < count || port.spend.Load() == 0:
		case !staged || within == 0 || late:
			good = 0
		default:
			good++
		}
		if good == 4 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("what was posted waits: %v, %d sends before a pass, the application is thought to stay away: %v; want true, some, false", staged, within, late)
		}
		for range posted {
			duo.Check(t, y.EP.Recv(in, 0, core.AddrUnspec, 0))
		}
		duo.Check(t, duo.Until(s, y, posted-n, posted))
		port.spend.Store(200e3) // from the second time on: the first connects
	}
}
