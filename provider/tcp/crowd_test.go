package tcp

// More connection requests than a passive endpoint holds.

import (
	"io"
	"net"
	"testing"

	"gofabric/core"
	"gofabric/internal/xnet/wire"
)

// TestManyRequests connects more peers than a passive endpoint holds requests for. The others wait in the listen
// queue, and all are answered.
func TestManyRequests(t *testing.T) {
	const peers = requestsMax + 200
	f, d, info := fixture(t, core.EPTypeMsg, nil)
	eq, err := f.Driver().OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec}, nil)
	must(t, err)
	pep, err := f.Driver().OpenPassiveEndpoint(info, nil)
	must(t, err)
	must(t, pep.BindEQ(eq, 0))
	must(t, pep.Listen())
	p := pep.(*passive)
	conns := make([]*net.TCPConn, peers)
	for i := range conns {
		conns[i] = raw(t, p.l.local)
		_, err := conns[i].Write(wire.AppendCM(nil, wire.CMConnReq, nil))
		must(t, err)
	}
	eventually(t, p.prog, "the endpoint holds the maximum of requests", func() bool {
		return p.told >= requestsMax && p.told < peers && p.l.pending.n == 0
	})
	quiet(t, p.prog)
	for range peers {
		var ev core.EQEvent
		must(t, eq.SRead(t.Context(), &ev, 0))
		must(t, pep.Reject(ev.Info.Handle, []byte("no")))
	}
	for i, c := range conns {
		b := make([]byte, wire.CMHeaderLen+2)
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatalf("peer %d: %v", i, err)
		}
		if cm, _, err := wire.ParseCM(b); err != nil || cm.Type != wire.CMReject || string(cm.Data) != "no" {
			t.Fatalf("peer %d: %v, %v", i, cm, err)
		}
	}
	must(t, pep.Close())
	must(t, eq.Close())
	must(t, d.Close())
	must(t, f.Close())
}
