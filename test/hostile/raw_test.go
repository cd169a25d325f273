package hostile

// A TCP peer that writes arbitrary bytes.

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"gofabric"
	"gofabric/core"
	"gofabric/internal/xnet/wire"
	"gofabric/test/conform"
)

func getInfo(node, service string, flags core.InfoFlags, hints *core.Info) ([]*core.Info, error) {
	list, _, err := gofabric.GetInfo(core.Query{Node: node, Service: service, Flags: flags, Hints: hints})
	return list, err
}

var stacks = []conform.Stack{
	{Name: "msg", Provider: "tcp", EPType: core.EPTypeMsg, GetInfo: getInfo, OpenFabric: gofabric.OpenFabric},
	{Name: "msg-srx", Provider: "tcp", EPType: core.EPTypeMsg, SharedRx: true, GetInfo: getInfo,
		OpenFabric: gofabric.OpenFabric},
	{Name: "rdm", Provider: "tcp", EPType: core.EPTypeRDM, GetInfo: getInfo, OpenFabric: gofabric.OpenFabric},
}

// open opens an honest pair with all capabilities of the stack.
func open(t *testing.T, st conform.Stack) *conform.Pair {
	caps := core.CapRMA
	if st.Offers(t, core.CapTagged) {
		caps |= core.CapTagged
	}
	return conform.Open(t, st, conform.WithCaps(caps))
}

// raw is a hostile peer's stream.
type raw struct {
	t *testing.T
	c *net.TCPConn
}

// dial connects to the listener of the pair's B side.
func dial(t *testing.T, p *conform.Pair) *raw {
	t.Helper()
	c, err := net.DialTimeout("tcp", p.B.Addr.IP.String(), conform.Deadline)
	if err != nil {
		t.Fatalf("cannot connect to the listener: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return &raw{t, c.(*net.TCPConn)}
}

// send writes bytes. The other side may refuse to read them.
func (r *raw) send(b []byte) {
	_ = r.c.SetWriteDeadline(time.Now().Add(conform.Deadline))
	_, _ = r.c.Write(b)
}

// closed waits until the other side has closed the stream. It discards what the other side sends until then.
func (r *raw) closed(p *conform.Pair) bool {
	end := time.Now().Add(conform.Deadline)
	buf := make([]byte, 4096)
	for time.Now().Before(end) {
		_ = r.c.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
		_, err := r.c.Read(buf)
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			p.Progress()
			continue
		}
		if err != nil {
			return true
		}
	}
	return false
}

// answer reads a connection management message.
func (r *raw) answer(p *conform.Pair) wire.CM {
	r.t.Helper()
	end := time.Now().Add(conform.Deadline)
	var b []byte
	tmp := make([]byte, 1)
	for time.Now().Before(end) {
		_ = r.c.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
		n, err := r.c.Read(tmp)
		b = append(b, tmp[:n]...)
		if cm, _, perr := wire.ParseCM(b); perr == nil {
			return cm
		}
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			p.Progress()
		} else if err != nil {
			r.t.Fatalf("no answer to the connection request: %v after %d bytes", err, len(b))
		}
	}
	r.t.Fatal("no answer to the connection request")
	return wire.CM{}
}

// connect completes an honest handshake. The test decides what follows. The returned function closes the endpoint that
// a MSG listener opened.
func connect(t *testing.T, p *conform.Pair) (*raw, func()) {
	t.Helper()
	r := dial(t, p)
	if p.Stack.EPType == core.EPTypeRDM {
		blob := wire.RDMBlob{Version: 1, Port: 9, PID: uint32(time.Now().UnixNano())}
		r.send(wire.AppendCM(nil, wire.CMConnReq, blob.Append(nil)))
		if cm := r.answer(p); cm.Type != wire.CMConnResp {
			t.Fatalf("handshake answered with %v", cm.Type)
		}
		return r, func() {}
	}
	return r, r.accepted(p, 0)
}

// accepted connects to a MSG listener as a peer with these features. The returned function closes the endpoint at the
// listener's side.
func (r *raw) accepted(p *conform.Pair, features uint32) func() {
	t := r.t
	t.Helper()
	r.send(wire.AppendCMFeatures(nil, wire.CMConnReq, features, nil))
	req := p.B.WantEvent(core.EventConnReq)
	ep, err := p.B.Domain.OpenEndpoint(req.Info)
	if err != nil {
		t.Fatalf("OpenEndpoint: %v", err)
	}
	p.B.BindAll(ep)
	if err := ep.Enable(); err != nil {
		t.Fatalf("Enable: %v", err)
	}
	if err := ep.Accept(nil); err != nil {
		t.Fatalf("Accept: %v", err)
	}
	p.B.WantEvent(core.EventConnected)
	r.answer(p)
	return func() {
		if err := ep.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// base returns the 16-byte header of a data message with the given values.
func base(version, op byte, flags uint16, opData, iovCnt, hdrLen byte, size uint64) []byte {
	b := []byte{version, op, 0, 0, opData, iovCnt, hdrLen, 0}
	binary.LittleEndian.PutUint16(b[2:], flags)
	return binary.LittleEndian.AppendUint64(b, size)
}

// words appends 64-bit words.
func words(b []byte, v ...uint64) []byte {
	for _, w := range v {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}
