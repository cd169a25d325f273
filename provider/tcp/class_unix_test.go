//go:build unix

package tcp

import (
	"testing"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/internal/xnet/wire"
)

// TestClassOfAccepted: a passive endpoint's traffic class applies to its socket, to its answers to connection
// requests, and to accepted connections, until an endpoint with another class is opened from them.
func TestClassOfAccepted(t *testing.T) {
	f, d, info := fixture(t, core.EPTypeMsg, nil)
	info.Tx.TClass = core.TCBulkData
	eq, err := f.Driver().OpenEQ(core.EQAttr{WaitObj: core.WaitUnspec}, nil)
	must(t, err)
	pep, err := f.Driver().OpenPassiveEndpoint(info, nil)
	must(t, err)
	must(t, pep.BindEQ(eq, 0))
	must(t, pep.Listen())
	p := pep.(*passive)
	wantClass(t, "the listener", int(p.l.fd), core.TCBulkData)
	for _, class := range []core.TrafficClass{core.TCBulkData, core.TCLowLatency, core.TCUnspec} {
		c := raw(t, p.l.local)
		_, err := c.Write(wire.AppendCM(nil, wire.CMConnReq, nil))
		must(t, err)
		var ev core.EQEvent
		must(t, eq.SRead(t.Context(), &ev, 0))
		if got := ev.Info.Tx.TClass; got != core.TCBulkData {
			t.Errorf("the request's class is %#x", uint32(got))
		}
		ev.Info.Tx.TClass = class
		opened, err := d.OpenEndpoint(ev.Info)
		must(t, err)
		ep := opened.Driver().(*msgEndpoint)
		must(t, ep.Bind(eq, 0))
		q, err := d.OpenCQ(core.CQAttr{})
		must(t, err)
		must(t, opened.BindCQ(q, core.BindTransmit|core.BindRecv))
		must(t, opened.Accept(nil))
		ep.prog.Lock() // the connection may end at any time
		wantClass(t, "an accepted connection", int(ep.st.carrier.socket()), class)
		ep.prog.Unlock()
		c.Close()
		must(t, opened.Close())
		must(t, q.Close())
	}
	must(t, pep.Close())
	must(t, eq.Close())
	must(t, d.Close())
	must(t, f.Close())
}

// TestClassOfListener: the same holds for an RDM endpoint.
func TestClassOfListener(t *testing.T) {
	f, d, info := fixture(t, core.EPTypeRDM, nil)
	info.Tx.TClass = core.TCLowLatency
	l, err := d.drv.OpenListener(info, nil)
	must(t, err)
	wantClass(t, "the listener", int(l.(*domainListener).fd), core.TCLowLatency)
	l.Close()
	must(t, d.Close())
	must(t, f.Close())
}

func wantClass(t *testing.T, what string, fd int, class core.TrafficClass) {
	t.Helper()
	if got, err := unix.GetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TOS); err != nil || got != class.TOS() {
		t.Errorf("%s marks its packets with %#x (%v), want %#x", what, got, err, class.TOS())
	}
}
