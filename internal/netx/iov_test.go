package netx

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestIOVModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		capacity := rapid.IntRange(1, 8).Draw(rt, "capacity")
		v := NewIOV(capacity)
		var model [][]byte
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				b := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(rt, "buffer")
				ok := v.Append(b)
				if want := len(b) == 0 || len(model) < capacity; ok != want {
					rt.Fatalf("Append = %v with %d of %d places taken", ok, len(model), capacity)
				}
				if ok && len(b) > 0 {
					model = append(model, b)
				}
			},
			"reset": func(rt *rapid.T) {
				v.Reset()
				model = nil
			},
			"": func(rt *rapid.T) {
				want := bytes.Join(model, nil)
				if v.Len() != len(model) || v.Room() != capacity-len(model) || !bytes.Equal(flatten(v), want) {
					rt.Fatalf("%d buffers, room %d: %x; want %x", v.Len(), v.Room(), flatten(v), want)
				}
				// Reset entries must not keep memory alive.
				all := v.vec[:cap(v.vec)]
				for i := range all {
					if i >= len(v.vec) && all[i].Base != nil {
						rt.Fatalf("place %d of %d still refers to a buffer", i, len(all))
					}
				}
			},
		})
	})
}

func TestIOVBounds(t *testing.T) {
	if r := NewIOV(0).Room(); r != 1 {
		t.Errorf("NewIOV(0) has room for %d", r)
	}
	if r := NewIOV(1 << 20).Room(); r != IOVMax {
		t.Errorf("NewIOV(1<<20) has room for %d", r)
	}
	var v IOV
	if v.Room() != IOVDefault {
		t.Errorf("a zero IOV has room for %d", v.Room())
	}
	b := []byte{1, 2, 3}
	for i := range IOVDefault {
		if !v.Append(b) {
			t.Fatalf("buffer %d does not fit", i)
		}
	}
	if v.Append(b) {
		t.Error("one more than the capacity fits")
	}
}
