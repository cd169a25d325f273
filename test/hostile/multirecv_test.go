package hostile

// A peer that stops in the middle of a message for a multi-receive buffer, while other peers fill the rest of the
// buffer.

import (
	"testing"

	"gofabric/core"
	"gofabric/test/conform"
)

// TestMultiRecvHeld checks that a buffer is not released while a message is still arriving in it, and is released
// when that one is complete.
func TestMultiRecvHeld(t *testing.T) {
	for _, st := range stacks[1:] {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			p := conform.Open(t, st, conform.WithCaps(core.CapTagged|core.CapMultiRecv))
			p.Ping(1)
			set := p.B.Rx().SetOpt(core.OptMinMultiRecv, 512)
			if set != nil {
				t.Fatal(set)
			}
			for _, dies := range []bool{false, true} {
				r, done := connect(t, p)
				buf := make([]byte, 1024)
				p.Retry("recvmsg", func() error {
					return p.B.Rx().RecvMsg(&core.MsgArgs{IOV: [][]byte{buf}, Addr: core.AddrUnspec, Ctx: 5},
						core.OpMultiRecv|core.OpCompletion)
				})
				body := conform.Pattern(300, 1)
				r.send(append(base(3, opMsg, 0, 0, 0, 16, 316), body[:100]...))
				p.Ping(2) // the header has been processed by now
				for range 100 {
					p.Progress()
				}
				// This message leaves less than 512 bytes.
				p.Retry("send", func() error { return p.A.EP.Send(conform.Pattern(500, 2), 0, p.A.Peer, 6) })
				p.Want(p.A, 6)
				if g := p.Want(p.B, 5); g.Len != 500 || g.Flags&core.CompMultiRecv != 0 || &g.Buf[0] != &buf[300] {
					t.Errorf("second message: %v at the offset %v; want 500 bytes at 300, buffer not released", g,
						&g.Buf[0] == &buf[300])
				}
				conform.CheckPattern(t, "second message", buf[300:], 500, 2)
				if dies {
					r.c.Close()
					if g := p.WantErr(p.B, 5); g.Flags&core.CompMultiRecv == 0 {
						t.Errorf("the last message of the buffer failed and did not release it: %v", g)
					}
				} else {
					r.send(body[100:])
					if g := p.Want(p.B, 5); g.Len != 300 || g.Flags&core.CompMultiRecv == 0 {
						t.Errorf("first message: %v; want 300 bytes, buffer released", g)
					}
					conform.CheckPattern(t, "first message", buf, 300, 1)
					r.c.Close()
				}
				done()
				p.Ping(3)
			}
			p.Forget()
		})
	}
}
