package fabrictest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gofabric/core"
	"gofabric/fabrictest"
)

// TestDgram: DGRAM endpoints lose the datagrams that the network loses, and no others.
func TestDgram(t *testing.T) {
	for _, stack := range []string{"mem", "mem;fault"} {
		synctest.Test(t, func(t *testing.T) {
			const messages = 400
			net := fabrictest.New(t, 2, fabrictest.Config{Faults: fabrictest.Faults{Loss: 0.25,
				Delay: time.Millisecond}})
			a, b := openEP(t, net.Node(0), stack, core.EPTypeDgram, core.CapMsg),
				openEP(t, net.Node(1), stack, core.EPTypeDgram, core.CapMsg)
			a.know(t, 2)
			buf := make([]byte, 1472)
			for i := range messages {
				if err := b.ep.Recv(buf, 0, core.AddrUnspec, core.OpContext(i)); err != nil {
					t.Fatal(err)
				}
				if err := a.ep.Inject(make([]byte, i), a.to[1]); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got, last := 0, -1
			var e [1]core.CQEntry
			for ctx.Err() == nil {
				if n, _ := b.cq.SRead(ctx, e[:]); n == 0 {
					continue
				}
				if got++; e[0].Len <= last {
					t.Errorf("%d bytes after %d", e[0].Len, last)
				}
				last = e[0].Len
			}
			if s := net.Stats(); got != int(s.Sent-s.Lost) || s.Lost < 50 || s.Sent != messages {
				t.Errorf("%s: %d arrived, %+v", stack, got, s)
			}
			a.close(t)
			b.close(t)
		})
	}
}
