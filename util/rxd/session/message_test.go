package session

import (
	"bytes"
	"fmt"
	"testing"

	xengine "gofabric/internal/xnet/engine"
)

// modes are the possible pairs of peers: whether each is a gofabric peer.
var modes = map[string][2]func(*Config){"native": {nativeOnly, nativeOnly}, "to native": {nil, nativeOnly}, "from native": {nativeOnly, nil}, "extended": {nil, nil}}

// eachMode runs f with a fresh pair of nodes.
func eachMode(t *testing.T, f func(t *testing.T, n *world, a, b *node)) {
	for name, m := range modes {
		t.Run(name, func(t *testing.T) {
			n := newWorld(t, 1)
			a, b := n.add(1, m[0]), n.add(2, m[1])
			f(t, n, a, b)
			if !t.Failed() {
				a.close()
				b.close()
			}
		})
	}
}

func TestMessages(t *testing.T) {
	sizes := []int{0, 1, 64, 1000, 1423, 1424, 1425, 1448, 1456, 1457, 2872, 2873, 4000, 100_000}
	eachMode(t, func(t *testing.T, n *world, a, b *node) {
		var bufs [][]byte
		for i, size := range sizes {
			for k := range 4 { // tagged or not, with cq data or not
				s := msg(uint64(i), pattern(size, byte(k)))
				s.Ack = i%3 == 0
				s.HasData, s.Data = k&2 != 0, uint64(100+i)
				buf := make([]byte, size+1)
				if k&1 != 0 {
					s.Tagged, s.Tag = true, uint64(i*4+k)
					b.trecv(buf, uint64(i*4+k), s.Tag)
				} else {
					b.recv(buf, uint64(i*4+k))
				}
				bufs = append(bufs, buf)
				a.post(b, s)
			}
		}
		want := len(sizes) * 4
		if !n.run(10*second, func() bool { return a.count(xengine.KindSend) == want && b.count(xengine.KindRecv) == want }) {
			t.Fatalf("%d sent, %d received of %d; %v %v\n%+v\n%+v",
				a.count(xengine.KindSend), b.count(xengine.KindRecv), want, a.failed, b.failed, a.e.Stats, b.e.Stats)
		}
		for _, c := range b.done {
			i, k := int(c.Ctx/4), int(c.Ctx%4)
			if int(c.Len) != sizes[i] || c.HasData != (k&2 != 0) || c.HasData && c.Data != uint64(100+i) {
				t.Errorf("%+v", c)
			}
			if !bytes.Equal(bufs[c.Ctx][:sizes[i]], pattern(sizes[i], byte(k))) {
				t.Errorf("size %d: the data is damaged", sizes[i])
			}
		}
		if a.e.Lookup(b.addr).Native() != (a.cfg.Extensions == false || b.cfg.Extensions == false) {
			t.Error("the peers use the wrong mode")
		}
	})
}

// TestBothAsk has both ends send RTS at the same time.
func TestBothAsk(t *testing.T) {
	eachMode(t, func(t *testing.T, n *world, a, b *node) {
		for i := range 20 {
			a.recv(make([]byte, 3000), uint64(i))
			b.recv(make([]byte, 3000), uint64(i))
			a.post(b, msg(1, pattern(i*140, 1)))
			b.post(a, msg(1, pattern(i*140, 2)))
		}
		if !n.run(10*second, func() bool { return a.count(xengine.KindRecv) == 20 && b.count(xengine.KindRecv) == 20 }) {
			t.Fatalf("%+v\n%+v", a.e.Stats, b.e.Stats)
		}
		if a.e.Len() != 1 || b.e.Len() != 1 || len(a.failed)+len(b.failed) > 0 {
			t.Error(a.e.Len(), b.e.Len(), a.failed, b.failed)
		}
		n.run(second, nil)
		if pa, pb := a.e.Lookup(b.addr), b.e.Lookup(a.addr); pa.hs != nil || pb.hs != nil {
			t.Error("the handshake does not end")
		}
	})
}

func TestRMA(t *testing.T) {
	sizes := []int{1, 100, 1400, 1432, 1433, 1440, 1441, 5000, 50_000}
	eachMode(t, func(t *testing.T, n *world, a, b *node) {
		for _, size := range sizes {
			a.done, b.done = nil, nil
			data := pattern(size, 5)
			a.post(b, rma(xengine.KindWrite, 1, data, 11))
			got := make([]byte, size)
			w := rma(xengine.KindWrite, 2, nil, 0)
			w.HasData, w.Data = true, 99
			a.post(b, w)
			a.post(b, rma(xengine.KindRead, 3, got, 11))
			a.post(b, rma(xengine.KindRead, 4, nil, 0))
			if !n.run(10*second, func() bool { return a.count(xengine.KindRead) == 2 && a.count(xengine.KindWrite) == 2 }) {
				t.Fatalf("size %d: %v\n%+v\n%+v", size, a.done, a.e.Stats, b.e.Stats)
			}
			if !bytes.Equal(b.region[11:11+size], data) || !bytes.Equal(got, data) {
				t.Error("the data is damaged")
			}
			n.run(second, nil)
			if s := fmt.Sprint(b.count(xengine.KindRemoteWrite), b.count(xengine.KindRemoteRead)); s != "2 2" &&
				s != "2 1" {
				t.Error(s)
			}
		}
	})
}
