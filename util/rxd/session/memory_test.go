package session

import (
	"reflect"
	"testing"

	xengine "gofabric/internal/xnet/engine"
)

// TestSizes limits the memory of an idle peer. The allocator rounds its parts up to 128, 384 and 384 bytes.
func TestSizes(t *testing.T) {
	for _, s := range []struct {
		of   reflect.Type
		most uintptr
	}{{reflect.TypeFor[Peer](), 128}, {reflect.TypeFor[extension](), 384}, {reflect.TypeFor[xengine.Conn](), 384}, {reflect.TypeFor[gateway](), 320}} {
		if s.of.Size() > s.most {
			t.Errorf("%v has %d bytes, more than %d", s.of, s.of.Size(), s.most)
		}
	}
}

// TestIdlePeers has 2,000 peers send to one endpoint and become silent.
func TestIdlePeers(t *testing.T) {
	const count, warm = 2000, 500 // the first ones allocate what all of them share
	for _, ext := range []bool{true, false} {
		n := newWorld(t, 6)
		change := func(c *Config) { c.Extensions = ext }
		hub := n.add(0, change)
		small := func(c *Config) {
			change(c)
			c.MaxHalfOpen = 1
		}
		var before int64
		for i := range count + warm {
			if i == warm {
				n.run(20*second, nil)
				before = heapUse()
			}
			hub.recv(make([]byte, 3000), 1)
			d := n.add(i+1, small)
			d.post(hub, msg(1, pattern(2000, 1)))
			d.recv(make([]byte, 3000), 1)
			hub.post(d, msg(1, pattern(2000, 1)))
			n.run(10*ms, func() bool { return hub.count(xengine.KindRecv) == 1 && d.count(xengine.KindRecv) == 1 })
			n.run(10*ms, func() bool { return hub.e.Flushed(true) && d.e.Flushed(true) })
			n.remove(d)
			hub.done, hub.up = nil, nil
		}
		n.run(20*second, nil)
		n.Clear()
		if hub.e.Len() != count+warm {
			t.Fatal(hub.e.Len())
		}
		each := (heapUse() - before) / count
		t.Logf("extended %v: %d bytes for each idle peer", ext, each)
		if each > 1100 {
			t.Errorf("extended %v: %d bytes for each idle peer", ext, each)
		}
		hub.close()
	}
}
