package gofabric

import (
	"context"
	"errors"
	"testing"
	"time"

	"gofabric/core"
)

// TestDatagrams exchanges datagrams through this package. An early datagram is kept, a receive without a datagram
// ends with its context, and a truncated datagram is reported.
func TestDatagrams(t *testing.T) {
	a, b, toB, toA := openPair(t, Config{Provider: "udp", Type: core.EPTypeDgram})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for range 2 {
		if err := a.Send(ctx, toB, []byte("message")); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 64)
	r, err := b.Recv(ctx, AnyPeer, buf)
	if err != nil || string(buf[:r.Len]) != "message" || r.From != toA {
		t.Errorf("%+v, %q, %v", r, buf[:r.Len], err)
	}
	if _, err = b.Recv(ctx, AnyPeer, buf[:3]); !errors.Is(err, core.ErrTrunc) {
		t.Errorf("a short buffer: %v", err)
	}
	soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err = b.Recv(soon, AnyPeer, buf); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nothing came: %v", err)
	}
	if err = a.Send(ctx, toB, make([]byte, 1<<16)); !errors.Is(err, core.ErrMsgSize) {
		t.Errorf("too long: %v", err)
	}
	if err = a.TSend(ctx, toB, buf, 1); !errors.Is(err, core.ErrNoSys) {
		t.Errorf("tagged: %v", err)
	}
}
