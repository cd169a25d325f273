package gofabric

import (
	"bytes"
	"context"
	"testing"

	"gofabric/core"
)

// TestReliableDatagrams sends tagged messages of all lengths through this package over udp;ofi_rxd.
func TestReliableDatagrams(t *testing.T) {
	a, b, toB, toA := openPair(t, Config{Provider: "udp;ofi_rxd", Caps: core.CapMsg | core.CapTagged | core.CapRMA})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for _, n := range []int{0, 1, 1000, 100_000, 3_000_000} {
		want, buf := bytes.Repeat([]byte{byte(n)}, n), make([]byte, n)
		sent := make(chan error, 1)
		go func() { sent <- a.TSend(ctx, toB, want, uint64(n)) }()
		r, err := b.TRecv(ctx, toA, buf, uint64(n), 0)
		if err != nil || r.Len != n || r.From != toA || !bytes.Equal(buf, want) {
			t.Fatalf("%d bytes: %+v, %v", n, r, err)
		}
		if err := <-sent; err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}
