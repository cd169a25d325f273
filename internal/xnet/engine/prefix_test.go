package engine

import (
	"bytes"
	"testing"

	"gofabric/internal/xnet/wire"
)

// TestPrefix receives messages with a tag in the header of an untagged transfer, expected and unexpected, cut at
// every byte, with and without room for unexpected messages.
func TestPrefix(t *testing.T) {
	prefix := []byte("0123456789abcdef")
	for _, n := range []int{0, 1, 300} {
		h := wire.Header{Op: wire.OpMsg, Flags: wire.FlagTagged | wire.FlagCQData, Tag: 5, CQData: 6}
		h.SetPayload(uint64(n))
		payload := bytes.Repeat([]byte{'x'}, n)
		b := append(h.Append(nil, wire.Little), payload...)
		for cut := range len(b) + 1 {
			for _, mode := range []string{"expected", "unexpected", "stalled"} {
				e := &end{t: t, name: "e"}
				e.rx = NewRxContext(&e.pool, e)
				e.cfg = Config{StageMax: 1024, StageLimit: 1 << 20, TxDepth: 16, InternalMax: 16}
				e.c = NewReady(&e.pool, &e.cfg, e.rx, &e.mem, e)
				e.cfg.Prefix = func(dst []byte, h *wire.Header) []byte {
					if h.Tag != 5 || h.CQData != 6 || h.Flags&wire.FlagCQData == 0 || h.PayloadLen() != uint64(n) {
						t.Fatalf("%+v", h)
					}
					return append(dst, prefix...)
				}
				if mode == "stalled" {
					e.rx.Limit = 1
				}
				got := make([]byte, n+len(prefix))
				post := func() {
					op := e.rx.NewOp()
					op.SetBuf(got)
					e.rx.PostMsg(op, AnySource)
				}
				if mode == "expected" {
					post()
				}
				e.c.Receive(0, b[:cut])
				e.c.Receive(0, b[cut:])
				if mode != "expected" {
					post()
				}
				if want := append(bytes.Clone(prefix), payload...); !bytes.Equal(got, want) || len(e.events) != 1 {
					t.Fatalf("%s, %d bytes, cut at %d: %q %q", mode, n, cut, got, e.events)
				}
				if e.pool.OutUnexp != 0 || e.pool.OutRx != 0 || e.c.State() != Connected || e.c.Stalled() {
					t.Fatal(mode, "leak")
				}
			}
		}
	}
}
