package tcp

// Connections that send nothing, and one after them that sends a request.

import (
	"io"
	"net"
	"testing"

	"gofabric/core"
	"gofabric/internal/xnet/wire"
)

// request is the connection request of an RDM endpoint.
func request(port uint16) []byte {
	return wire.AppendCM(nil, wire.CMConnReq, wire.RDMBlob{Version: 1, Port: port, PID: uint32(port)}.Append(nil))
}

// answered waits for the answer to a request.
func answered(t *testing.T, c *net.TCPConn) {
	t.Helper()
	b := make([]byte, wire.CMHeaderLen)
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatalf("no answer: %v", err)
	}
	if b[1] != byte(wire.CMConnResp) {
		t.Fatalf("answered with %v", wire.CMType(b[1]))
	}
}

// closedByPeer waits until the other side has closed c.
func closedByPeer(t *testing.T, c *net.TCPConn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); err == nil || n > 0 {
		t.Fatal("the connection stays open")
	} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Fatal("the connection stays open")
	}
}

// TestSilentGiveWay opens more connections without a request than are allowed. The oldest is closed, and a
// connection with a request is accepted.
func TestSilentGiveWay(t *testing.T) {
	f, d, info := fixture(t, core.EPTypeRDM, nil)
	ep := openEndpoint(t, d, info)
	l := ep.drv.Listener().(*domainListener)
	const most = 8
	ep.drv.d.prog.Lock()
	l.pending.init(most)
	ep.drv.d.prog.Unlock()
	var silent []*net.TCPConn
	for range most {
		silent = append(silent, raw(t, l.local))
	}
	eventually(t, ep.drv.d.prog, "all connections are accepted", func() bool { return l.pending.n == most })
	c := raw(t, l.local)
	_, err := c.Write(request(7))
	must(t, err)
	answered(t, c)
	closedByPeer(t, silent[0])
	eventually(t, ep.drv.d.prog, "the oldest connection is closed", func() bool {
		return l.pending.n == most-1 && l.refused == 1
	})
	more := raw(t, l.local)
	eventually(t, ep.drv.d.prog, "another connection is accepted", func() bool { return l.pending.n == most })
	reset(more)
	for _, c := range silent[1:] {
		reset(c)
	}
	eventually(t, ep.drv.d.prog, "no connection is pending", func() bool { return l.pending.n == 0 })
	ep.closeAll(t)
	must(t, d.Close())
	must(t, f.Close())
}

// TestSilentBeforePassive opens more connections without a request than a passive endpoint holds. The application
// gets the one request that was sent.
func TestSilentBeforePassive(t *testing.T) {
	f, d, info := fixture(t, core.EPTypeMsg, nil)
	eq, err := f.Driver().OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec}, nil)
	must(t, err)
	pep, err := f.Driver().OpenPassiveEndpoint(info, nil)
	must(t, err)
	must(t, pep.BindEQ(eq, 0))
	must(t, pep.Listen())
	p := pep.(*passive)
	for range requestsMax + 10 {
		raw(t, p.l.local)
	}
	eventually(t, p.prog, "all connections are accepted", func() bool { return p.l.pending.n == requestsMax+10 })
	c := raw(t, p.l.local)
	_, err = c.Write(wire.AppendCM(nil, wire.CMConnReq, nil))
	must(t, err)
	var ev core.EQEvent
	must(t, eq.SRead(t.Context(), &ev, 0))
	must(t, pep.Reject(ev.Info.Handle, nil))
	must(t, pep.Close())
	must(t, eq.Close())
	must(t, d.Close())
	must(t, f.Close())
}
