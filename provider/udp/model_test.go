package udp

import (
	"testing"

	"pgregory.net/rapid"
)

// TestModel sends random datagrams and runs in random parts through all variants. On loopback they arrive
// unchanged, in order.
func TestModel(t *testing.T) {
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			d := testDomain(t, v...)
			a, _ := testPort(t, d, loopback4)
			b, in := testPort(t, d, loopback4)
			next := byte(0)
			rapid.Check(t, func(t *rapid.T) {
				d.prog.Lock()
				defer d.prog.Unlock()
				in.got = nil
				var want []string
				for range rapid.IntRange(1, 5).Draw(t, "sends") {
					seg := rapid.SampledFrom([]int{0, 0, 1, 7, 100, 1448, 9000}).Draw(t, "seg")
					most := 9000
					if seg > 0 {
						most = min(64*seg, 64000)
					}
					data := make([]byte, rapid.IntRange(0, most).Draw(t, "bytes"))
					for i := range data {
						next = next*5 + 1
						data[i] = next
					}
					var parts [][]byte
					for rest := data; len(rest) > 0; {
						n := rapid.IntRange(0, len(rest)).Draw(t, "part")
						if len(parts) > 20 {
							n = len(rest)
						}
						parts, rest = append(parts, rest[:n]), rest[n:]
					}
					if err := a.Send(b.local, parts, seg); err != nil {
						t.Fatal(err)
					}
					for first := true; first || len(data) > 0; first = false {
						n := len(data)
						if seg > 0 {
							n = min(seg, n)
						}
						want, data = append(want, string(data[:n])), data[n:]
					}
				}
				for range 1000 {
					if b.Poll(); len(in.got) >= len(want) {
						break
					}
				}
				for i := range min(len(want), len(in.got)) {
					if in.got[i].data != want[i] {
						t.Fatalf("datagram %d of %d: %d bytes, want %d",
							i, len(want), len(in.got[i].data), len(want[i]))
					}
				}
				if len(in.got) != len(want) {
					t.Fatalf("received %d datagrams of %d", len(in.got), len(want))
				}
			})
		})
	}
}
