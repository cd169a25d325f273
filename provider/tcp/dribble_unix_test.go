//go:build unix

package tcp

import (
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/internal/netx"
	"gofabric/internal/xnet/wire"
	"gofabric/test/wait"
)

// TestDribble sends a request and a first message byte by byte. The socket becomes readable when a header is
// complete, and all bytes arrive.
func TestDribble(t *testing.T) {
	f, d, info := fixture(t, core.EPTypeRDM, nil)
	ep := openEndpoint(t, d, info)
	l := ep.drv.Listener().(*domainListener)
	buf := make([]byte, 8)
	must(t, ep.Recv(buf, 0, core.AddrUnspec, 1))
	c := raw(t, l.local)
	eventually(t, ep.drv.d.prog, "the connection is accepted", func() bool { return l.pending.n == 1 })
	ep.drv.d.prog.Lock()
	s := l.pending.victim().s
	ep.drv.d.prog.Unlock()
	// say sends bytes one by one. After each, the socket waits for want bytes and holds unread ones.
	say := func(what string, b []byte, want int, unread func(i int) int) {
		t.Helper()
		for i := range b {
			_, err := c.Write(b[i : i+1])
			must(t, err)
			eventually(t, ep.drv.d.prog, what, func() bool {
				n, err := unix.GetsockoptInt(int(s.carrier.socket()), unix.SOL_SOCKET, unix.SO_RCVLOWAT)
				return err == nil && n == want && netx.Waiting(s.carrier.socket()) == unread(i)
			})
		}
	}
	none, all := func(int) int { return 0 }, func(i int) int { return i + 1 }
	req := request(7)
	const head = wire.CMHeaderLen
	say("the first byte of the request is examined", req[:1], head-1, none)
	say("the other bytes of the header wait", req[1:head-1], head-1, all)
	say("the header is complete", req[head-1:head], len(req)-head, none)
	_, err := c.Write(req[wire.CMHeaderLen:])
	must(t, err)
	answered(t, c)
	ep.drv.d.prog.Lock()
	s.Posted(false) // a layer that checks for data to send has sent the peer nothing
	ep.drv.d.prog.Unlock()
	msg := wire.Header{Op: wire.OpMsg}
	msg.SetPayload(8)
	b := append(msg.Append(nil, wire.Little), "12345678"...)
	say("the first byte of the message is examined", b[:1], wire.BaseLen-1, none)
	say("the other bytes of the header wait", b[1:wire.BaseLen-1], wire.BaseLen-1, all)
	_, err = c.Write(b[wire.BaseLen-1:])
	must(t, err)
	var e [1]core.CQEntry
	wait.Until(t, "the message arrives", func() bool {
		n, _ := ep.q.Read(e[:])
		return n == 1
	})
	if string(buf) != "12345678" {
		t.Errorf("%q", buf)
	}
	eventually(t, ep.drv.d.prog, "the socket becomes readable with any byte again", func() bool {
		n, err := unix.GetsockoptInt(int(s.carrier.socket()), unix.SOL_SOCKET, unix.SO_RCVLOWAT)
		return err == nil && n == 1
	})
	c.Close()
	ep.closeAll(t)
	must(t, d.Close())
	must(t, f.Close())
}
