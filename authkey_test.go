package gofabric

import (
	"errors"
	"testing"

	"gofabric/core"
)

// TestAuthKey: endpoints with the same key communicate, and endpoints with another key are refused, on every stack.
func TestAuthKey(t *testing.T) {
	for _, provider := range []string{"tcp", "tcp;ofi_rxm", "udp;ofi_rxd"} {
		ctx := testContext(t)
		open := func(key string) *Endpoint {
			cfg := Config{Provider: provider, Node: "127.0.0.1"}
			if key != "" {
				cfg.AuthKey = []byte(key)
			}
			e, err := Open(ctx, cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() })
			return e
		}
		b := open("a key of ours")
		for key, want := range map[string]error{"a key of ours": nil, "another": core.ErrAccess, "": core.ErrAccess} {
			a := open(key)
			to, err := a.InsertAddr(b.Name())
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Send(ctx, to, []byte("hi")); !errors.Is(err, want) {
				t.Errorf("%s, key %q: %v, want %v", provider, key, err, want)
			}
		}
		buf := make([]byte, 10)
		if m, err := b.Recv(ctx, AnyPeer, buf); err != nil || string(buf[:m.Len]) != "hi" {
			t.Errorf("%s: %+v, %v", provider, m, err)
		}
	}
	if _, err := Open(testContext(t), Config{Provider: "udp", Type: core.EPTypeDgram,
		AuthKey: []byte("key")}); !errors.Is(err, core.ErrNoData) {
		t.Errorf("a datagram endpoint with a key: %v", err)
	}
}
