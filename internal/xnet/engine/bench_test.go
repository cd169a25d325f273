// This file measures the engine's cost per message, without sockets.

package engine

import (
	"strconv"
	"testing"

	"gofabric/internal/xnet/wire"
)

func BenchmarkMessage(b *testing.B) {
	for _, size := range []int{64, 1024, 65536} {
		for _, tagged := range []bool{false, true} {
			name := "msg/"
			if tagged {
				name = "tag/"
			}
			b.Run(name+strconv.Itoa(size), func(b *testing.B) { benchMessage(b, size, tagged, 0) })
		}
	}
}

// BenchmarkCoalesced is BenchmarkMessage between gofabric peers.
func BenchmarkCoalesced(b *testing.B) {
	for name, tagged := range map[string]bool{"msg": false, "tag": true} {
		b.Run(name, func(b *testing.B) { benchMessage(b, 64, tagged, wire.FeatureExtended) })
	}
}

// benchMessage sends windows of 64 into posted receives.
func benchMessage(b *testing.B, size int, tagged bool, features uint32) {
	t := &testing.T{}
	x, y := newEnd(t, "a"), newEnd(t, "b")
	s := &script{t: t, a: x, b: y, cut: 1 << 20}
	x.peer, y.peer = y, x
	x.cfg.StageLimit = 1 << 20
	x.cfg.Features, y.cfg.Features = features, features
	x.c = NewActive(&x.pool, &x.cfg, x.rx, &x.mem, x, 0)
	y.c = NewPassive(&y.pool, &y.cfg, y, 0)
	y.c.Attach(&y.pool, &y.cfg, y.rx, &y.mem, y)
	s.connect()
	s.silence()
	o := Send{Tagged: tagged, Tag: 5, NIOV: 1, IOV: [MaxIOV][]byte{make([]byte, size)}}
	buf := make([]byte, size)
	p := directPump{gather: make([][]byte, 0, 64), scratch: make([]byte, 0, 8<<20)}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		op := y.rx.NewOp()
		op.SetBuf(buf)
		if tagged {
			y.rx.PostTagged(op, 2, 5, 0)
		} else {
			y.rx.PostMsg(op, AnySource)
		}
		if err := x.c.Submit(&o); err != nil {
			b.Fatal(err)
		}
		if i%64 == 63 {
			p.move(x.c, y.c)
		}
	}
	p.move(x.c, y.c)
}
