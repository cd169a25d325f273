package hostile

// Malformed input before a connection exists.

import (
	"bytes"
	"testing"

	"gofabric/core"
	"gofabric/internal/xnet/wire"
	"gofabric/test/conform"
)

// cmHeader returns a connection management header with the given values.
func cmHeader(version, typ byte, size uint16, mark uint64) []byte {
	b := []byte{version, typ, byte(size >> 8), byte(size)}
	b = append(b, make([]byte, 20)...)
	return words(b, mark)
}

func TestHandshake(t *testing.T) {
	good := wire.AppendCM(nil, wire.CMConnReq, bytes.Repeat([]byte{7}, 200))
	cases := []struct {
		name   string
		bytes  []byte
		stays  bool // the peer does not close
		closes bool // the listener must
	}{
		{"nothing", nil, false, false},
		{"sends nothing and stays", nil, true, false},
		{"http", []byte("GET / HTTP/1.1\r\nHost: fabric\r\nAccept: */*\r\n\r\n"), true, true},
		{"tls", append([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, make([]byte, 512)...), true, true},
		{"ssh", []byte("SSH-2.0-OpenSSH_9.9\r\n"), true, true},
		{"zeros", make([]byte, 4096), true, true},
		{"noise", conform.Pattern(1<<20, 1), true, true},
		{"one byte", []byte{3}, true, false},
		{"half a header", good[:16], true, false},
		{"half a header, then gone", good[:16], false, false},
		{"header and nothing more", good[:32], true, false},
		{"truncated private data", good[:100], true, false},
		{"truncated private data, then gone", good[:100], false, false},
		{"version 2", cmHeader(2, 0, 0, 1), true, true},
		{"version 255", cmHeader(255, 0, 0, 1), true, true},
		{"type accept", cmHeader(3, 1, 0, 1), true, true},
		{"type reject", cmHeader(3, 6, 0, 1), true, true},
		{"unknown type", cmHeader(3, 99, 0, 1), true, true},
		{"257 bytes of private data", append(cmHeader(3, 0, 257, 1), make([]byte, 257)...), true, true},
		{"65535 bytes of private data", append(cmHeader(3, 0, 65535, 1), make([]byte, 65535)...), true, true},
	}
	for _, st := range stacks {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := open(t, st)
			p.Ping(1)
			for i, c := range cases {
				r := dial(t, p)
				r.send(c.bytes)
				if !c.stays {
					r.c.Close()
				}
				p.Ping(uint64(100 + i))
				if c.closes && !r.closed(p) {
					t.Errorf("%s: the listener does not close the stream", c.name)
				}
				p.Progress()
			}
			fresh(t, p)
			p.Ping(999)
		})
	}
}

// TestRDMBlob sends RDM endpoints handshakes whose private data no RDM endpoint would send.
func TestRDMBlob(t *testing.T) {
	st := stacks[2]
	conform.NoLeaks(t)
	p := open(t, st)
	blob := func(b wire.RDMBlob) []byte { return b.Append(nil) }
	for i, data := range [][]byte{
		nil, {1}, make([]byte, 7), make([]byte, 256), bytes.Repeat([]byte{0xff}, 8),
		blob(wire.RDMBlob{Version: 0, Port: 5, PID: 1}), blob(wire.RDMBlob{Version: 200, Port: 5, PID: 1}),
		blob(wire.RDMBlob{Version: 1, Port: 0, PID: 1}), blob(wire.RDMBlob{Version: 1, Features: 255, Port: 5, PID: 1}),
		blob(wire.RDMBlob{Version: 1, Port: p.A.Addr.IP.Port(), PID: 77}), // claims to be A
		blob(wire.RDMBlob{Version: 1, Port: p.B.Addr.IP.Port(), PID: 78}), // claims to be B itself
	} {
		if i >= 9 {
			continue // TestImpersonation covers impersonation
		}
		r := dial(t, p)
		r.send(wire.AppendCM(nil, wire.CMConnReq, data))
		p.Ping(uint64(1000 + i))
		if i%2 == 0 {
			r.c.Close()
		}
		p.Ping(uint64(2000 + i))
	}
	p.Forget()
}

// TestImpersonation has a hostile peer claim A's address. At worst the connection is established anew, and A and B
// continue.
func TestImpersonation(t *testing.T) {
	conform.NoLeaks(t)
	p := open(t, stacks[2])
	p.Ping(1)
	for i := range uint64(5) {
		for _, who := range []core.Addr{p.A.Addr, p.B.Addr} {
			r := dial(t, p)
			r.send(wire.AppendCM(nil, wire.CMConnReq,
				wire.RDMBlob{Version: 1, Port: who.IP.Port(), PID: uint32(70 + i)}.Append(nil)))
			r.answer(p) // any answer: it shows that the claim has been processed
			r.c.Close()
		}
		conform.Recover(p)
		p.Ping(100 + i)
	}
	p.Forget()
}

// fresh makes another honest connection to the same listener.
func fresh(t *testing.T, p *conform.Pair) {
	t.Helper()
	if p.Stack.EPType == core.EPTypeRDM {
		q := conform.Open(t, p.Stack, conform.WithCaps(p.A.Info.Caps&(core.CapTagged|core.CapRMA)))
		fi := q.A.Insert(p.B.Addr)
		buf := make([]byte, 8)
		if p.A.Info.Caps&core.CapTagged == 0 {
			t.Fatal("an RDM stack without tagged messages")
		}
		p.Retry("trecv", func() error { return p.B.EP.TRecv(buf, 0, core.AddrUnspec, 1<<50, 0, 42) })
		q.Retry("tsend", func() error { return q.A.EP.TSend(make([]byte, 8), 0, fi, 1<<50, 43) })
		p.Want(p.B, 42)
		q.Want(q.A, 43)
		return
	}
	ep, err := p.A.Domain.OpenEndpoint(p.A.Info)
	if err != nil {
		t.Fatalf("OpenEndpoint: %v", err)
	}
	p.A.BindAll(ep)
	if err := ep.Enable(); err != nil {
		t.Fatalf("Enable: %v", err)
	}
	if err := ep.Connect(p.B.Addr, []byte("honest")); err != nil {
		t.Fatalf("Connect: %v", err)
	}
	for {
		req := p.B.WantEvent(core.EventConnReq)
		if string(req.CMData) != "honest" {
			_ = p.B.PEP.Reject(req.Info.Handle, nil)
			continue
		}
		if err := p.B.PEP.Reject(req.Info.Handle, []byte("later")); err != nil {
			t.Fatalf("Reject: %v", err)
		}
		break
	}
	if e := p.A.WantEventErr(); e.Err != core.ErrConnRefused || string(e.ErrData) != "later" {
		t.Errorf("fresh connection: %v %q; want the rejection", e.Err, e.ErrData)
	}
	if err := ep.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
