package conform

// Peers that accept no connections (fi_av(3), FI_FIREWALL_ADDR).

import (
	"testing"

	"gofabric/core"
)

// testFirewall sends to a peer behind a firewall. Over connections the send is refused until the peer has connected,
// and then succeeds.
func testFirewall(t *testing.T, st Stack) {
	if st.EPType == core.EPTypeMsg {
		return // the application decides which endpoint connects
	}
	p := Open(t, st, WithoutPeer())
	fi := make([]core.FIAddr, 1)
	if n, err := p.B.AV.Insert([]core.Addr{p.A.Addr}, fi, core.InsertFirewallAddr); n != 1 || err != nil {
		t.Fatalf("insertion: %d, %v", n, err)
	}
	p.B.Peer = fi[0]
	buf := make([]byte, 64)
	p.Retry("recv", func() error { return p.A.Rx().Recv(buf, 0, core.AddrUnspec, 1) })
	send := func() error { return p.B.EP.Send(still, 0, p.B.Peer, 2) }
	if err := p.TryPost(send); err != nil {
		refuse(t, "send to a peer behind a firewall", err, core.ErrFirewallAddr)
		exchange(p, p.A, p.B, msgSends[0], msgRecvs[0], 100, 1)
		p.Retry("send, now that there is a connection", send)
	} else if !st.Datagrams() {
		t.Error("a message to a peer behind a firewall was sent without a connection")
	}
	p.Want(p.B, 2)
	p.Want(p.A, 1)
	CheckPattern(t, "message", buf, 64, 0x5717)
}
