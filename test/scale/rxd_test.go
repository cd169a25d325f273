//go:build linux

package scale

import (
	"net/netip"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/need"
)

const perAddress = 64 // limit for an address that was never sent to, bytes

// size returns n for the long versions, with ten thousand peers and a million addresses. It returns a tenth of it with
// -short and with the race detector.
func size(n int) int {
	if !need.Many() || need.Raced {
		return n / 10
	}
	return n
}

// TestRXDAddresses inserts a million addresses into the vector of an endpoint, and sends to the last one.
func TestRXDAddresses(t *testing.T) {
	n := size(1_000_000)
	p := openOver(t, "udp;ofi_rxd", "127.0.0.1", 0)
	before := measure(t)
	const chunk = 10_000
	addrs, fi := make([]core.Addr, chunk), make([]core.FIAddr, chunk)
	began := time.Now()
	for k := 0; k < n; k += chunk {
		for i := range addrs {
			a := k + i
			addrs[i] = core.IPAddr(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(a >> 16), byte(a >> 8), byte(a)}), 7000))
		}
		if done, err := p.av.Insert(addrs, fi, 0); done != chunk || err != nil {
			t.Fatalf("inserted %d: %v", done, err)
		}
	}
	inserted := time.Since(began)
	full := measure(t)
	self, err := p.ep.Name()
	p.check(err)
	one := make([]core.FIAddr, 1)
	if _, err := p.av.Insert([]core.Addr{self}, one, 0); err != nil {
		t.Fatal(err)
	}
	p.check(p.ep.Recv(make([]byte, 8), 0, core.AddrUnspec, 1))
	p.check(p.ep.Send(make([]byte, 8), 0, one[0], 2))
	es := make([]core.CQEntry, 2)
	for got, end := 0, time.Now().Add(patience); got < 2; {
		k, err := p.cq.Read(es)
		if err != core.ErrAgain {
			p.check(err)
			got += k
		} else if time.Now().After(end) {
			t.Fatal("the message has not arrived")
		}
	}
	spoken := measure(t)
	per := func(u usage) float64 { return float64(u.heap-before.heap) / float64(n) }
	t.Logf("%d addresses in %v: %.1f bytes each, %.1f after a message to the last one", n,
		inserted.Round(time.Millisecond), per(full), per(spoken))
	if per(full) > perAddress {
		t.Errorf("%.1f bytes for each address, want at most %d", per(full), perAddress)
	}
	if per(spoken) > perAddress {
		t.Errorf("%.1f bytes for each address after one message, want at most %d", per(spoken), perAddress)
	}
	p.close()
}
