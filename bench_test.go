package gofabric

import (
	"testing"
)

// BenchmarkRoundTrip measures a message there and one back between two goroutines. Both calls of each side wait.
func BenchmarkRoundTrip(b *testing.B) {
	x, y, toY, toX := openPair(b, Config{})
	ctx := b.Context()
	go func() {
		buf := make([]byte, 64)
		for {
			if _, err := y.Recv(ctx, AnyPeer, buf); err != nil {
				return
			}
			if err := y.Send(ctx, toX, buf); err != nil {
				return
			}
		}
	}()
	out, in := make([]byte, 64), make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		if err := x.Send(ctx, toY, out); err != nil {
			b.Fatal(err)
		}
		if _, err := x.Recv(ctx, AnyPeer, in); err != nil {
			b.Fatal(err)
		}
	}
}
