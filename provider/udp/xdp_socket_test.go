//go:build linux && !fabricbasic

package udp

import (
	"net/netip"
	"syscall"
	"testing"

	"gofabric/internal/netx"
)

// looked counts the reads of the socket. As many reads as has says return data.
type looked struct {
	datapath
	times, has int
}

func (l *looked) receive(bool) ([]netx.Datagram, bool, syscall.Errno) {
	if l.times++; l.has > 0 {
		l.has--
		return nil, false, 0
	}
	return nil, true, syscall.EAGAIN
}

// TestXDPSocketTurns: passes read the socket now and then. After one that found data there, each pass reads it for
// a while, since more data is likely to arrive there.
func TestXDPSocketTurns(t *testing.T) {
	a, _ := places(t)
	a.Enter()
	d := testDomain(t, "LINK", linkXDP)
	p, _ := testPort(t, d, netip.MustParseAddr("10.98.0.1"))
	l, ok := p.xdp.(*xdpDatapath)
	if !ok {
		t.Fatal(p)
	}
	d.prog.Lock()
	defer d.prog.Unlock()
	in := &looked{datapath: l.datapath}
	l.datapath = in
	defer func() { l.datapath = in.datapath }()
	l.receive(true) // takes the event that the poller reported before
	l.turns, l.socketTurns, l.woken = 0, 0, false
	for n, c := range []struct{ has, receives, want int }{
		{0, 4 * socketEvery, 4},
		{1, socketEvery, 1},           // the last of them finds data
		{0, socketAgain, socketAgain}, // all that follow read the socket
		{0, 4 * socketEvery, 4},       // and then only some
	} {
		in.times, in.has = 0, c.has
		for range c.receives {
			l.receive(true)
		}
		if in.times != c.want {
			t.Errorf("step %d: %d of %d receives read the socket, want %d", n, in.times, c.receives, c.want)
		}
	}
}
