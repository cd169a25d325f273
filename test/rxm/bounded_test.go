package rxm

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"gofabric/core"
)

// eachFormat runs f with peers that use gofabric's extension, and with peers that use native's packets.
func eachFormat(t *testing.T, f func(t *testing.T, with func(vars ...string) map[string]string)) {
	t.Parallel()
	for name, ext := range map[string]string{"direct": "1", "native": "0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, func(vars ...string) map[string]string {
				m := map[string]string{"FI_OFI_RXM_EXTENSIONS": ext}
				for i := 0; i < len(vars); i += 2 {
					m[vars[i]] = vars[i+1]
				}
				return m
			})
		})
	}
}

// TestBounded sends to more peers in turn than there may be connections. The connection that has been idle longest is
// closed, no application sees an error, and no message is lost.
func TestBounded(t *testing.T) {
	eachFormat(t, func(t *testing.T, with func(...string) map[string]string) {
		const peers, most = 6, 3
		mem := make([]byte, 8)
		hub := open(t, mem, with("FI_OFI_RXM_MAX_CONNS", "3"))
		var others []*side
		var fis, back []core.FIAddr
		for range peers {
			s := open(t, mem, with())
			others = append(others, s)
			fis, back = append(fis, hub.know(s)), append(back, s.know(hub))
		}
		ctx := core.OpContext(0)
		for range 5 {
			for i, s := range others {
				ctx++
				message(t, hub, s, fis[i], 100, ctx)
				if i == 0 {
					continue
				}
				ctx++
				message(t, s, hub, back[i], 40_000, ctx)
			}
		}
		until(t, "no more connections than there may be",
			func() bool { return hub.conns() <= most }, append(others, hub)...)
		for i, s := range others {
			ctx++
			message(t, hub, s, fis[i], 10, ctx)
		}
	})
}

// TestBoundedBusy sends to all peers at once, in both directions, in random order. Connections are closed and made
// under the traffic, and every message arrives once.
func TestBoundedBusy(t *testing.T) { busy(t, "tcp;ofi_rxm", nil) }

// TestBoundedLate is TestBoundedBusy where what arrives over one connection, requests included, can be later than what
// was sent after it over another. When both ends connect at the same time, one request is given up. It can then be
// read when the other connection is already being closed.
func TestBoundedLate(t *testing.T) {
	for seed := range 30 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			busy(t, "tcp;fault;ofi_rxm",
				map[string]string{"FI_FAULT_JITTER": "6ms", "FI_FAULT_SEED": fmt.Sprint(seed),
					"FI_OFI_RXM_EXTENSIONS": fmt.Sprint(min(seed%3, 1))})
		})
	}
}

// busy is TestBoundedBusy over a provider, with more variables.
func busy(t *testing.T, provider string, more map[string]string) {
	// Large ones are read from the sender's memory, where ends can agree on that.
	const peers, rounds, small, large = 5, 300, 64, 100_000
	mem := make([]byte, 8)
	var in [peers + 1][large]byte // of each; other tests check the content
	out := make([]byte, large)
	bounded := map[string]string{"FI_OFI_RXM_MAX_CONNS": "2", "FI_OFI_RXM_IDLE_TIMEOUT": "1"}
	maps.Copy(bounded, more)
	hub := openOver(t, provider, mem, bounded)
	all := []*side{hub}
	var fis, back []core.FIAddr
	for i := range peers {
		vars := bounded
		if i%2 == 0 {
			vars = more
		}
		s := openOver(t, provider, mem, vars)
		all = append(all, s)
		fis, back = append(fis, hub.know(s)), append(back, s.know(hub))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var sent, got [peers + 1]int // for each, the hub first
	for range rounds {
		from, to, fi := hub, 1+rng.IntN(peers), core.FIAddr(0)
		fi = fis[to-1]
		if rng.IntN(2) == 0 {
			from, to, fi = all[to], 0, back[to-1]
		}
		check(t, all[to].ep.Recv(in[to][:], 0, core.AddrUnspec, 7))
		n := rng.IntN(small)
		if rng.IntN(4) == 0 {
			n = large
		}
		try(t, func() error { return from.ep.Send(out[:n], 0, fi, 8) }, all...)
		if sent[to]++; rng.IntN(8) == 0 {
			// Connections have time to become idle. No result depends on whether one does.
			time.Sleep(time.Duration(rng.IntN(4)) * time.Millisecond)
		}
	}
	defer func() {
		if t.Failed() {
			t.Logf("sent to each, the hub first: %v, received %v", sent, got)
		}
	}()
	until(t, "all arrive", func() bool {
		n := 0
		for i, s := range all {
			if got[i] = s.done[7]; got[i] == sent[i] {
				n++
			}
		}
		return n == len(all)
	}, all...)
}

// TestIdleTimeout checks that idle connections are closed at both ends, and made again for the next message.
func TestIdleTimeout(t *testing.T) {
	eachFormat(t, func(t *testing.T, with func(...string) map[string]string) {
		mem := make([]byte, 8)
		a, b := open(t, mem, with("FI_OFI_RXM_IDLE_TIMEOUT", "20")), open(t, mem, with())
		ab, ba := a.know(b), b.know(a)
		for i := range core.OpContext(2) {
			message(t, a, b, ab, 1000, 10+i)
			message(t, b, a, ba, 200_000, 20+i)
			until(t, "the connection ends", func() bool { return a.conns() == 0 && b.conns() == 0 }, a, b)
		}
	})
}

// TestIdleWithMessages checks that a connection with messages that have not been received yet stays open.
func TestIdleWithMessages(t *testing.T) {
	mem := make([]byte, 8)
	a, b := open(t, mem, map[string]string{"FI_OFI_RXM_IDLE_TIMEOUT": "5"}), open(t, mem, nil)
	fi := a.know(b)
	check(t, a.ep.Inject([]byte("hello"), fi))
	until(t, "it arrives", func() bool { return b.conns() == 1 }, a, b)
	other := open(t, nil, nil)
	to := a.know(other)
	for i := range core.OpContext(5) { // the connection to this peer becomes idle and is closed
		message(t, a, other, to, 10, 10+i)
		until(t, "another connection ends", func() bool { return other.conns() == 0 }, a, b, other)
		if a.conns() == 0 || b.conns() != 1 {
			t.Fatalf("%d and %d connections, one has a message that has not been received", a.conns(), b.conns())
		}
	}
	in := make([]byte, 5)
	check(t, b.ep.Recv(in, 0, core.AddrUnspec, 3))
	until(t, "it is received", func() bool { return b.done[3] == 1 }, a, b)
	until(t, "the connection ends", func() bool { return a.conns() == 0 && b.conns() == 0 }, a, b)
}
