package samehost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gofabric"
	_ "gofabric/all"
	"gofabric/core"
)

var stacks = []string{"tcp/msg", "tcp/rdm", "tcp;ofi_rxm/rdm", "udp;ofi_rxd/rdm"}

const (
	limit = 90 * time.Second

	remote = core.AccessRemoteRead | core.AccessRemoteWrite
	region = 1 << 20
	mine   = 0xee // the owner of a region writes this into the memory after it has closed the region
)

// pair opens two endpoints of this process. a has the address of b.
func pair(t *testing.T, ctx context.Context, stack string) (a, b *gofabric.Endpoint, to gofabric.Peer) {
	t.Helper()
	provider, typ, _ := strings.Cut(stack, "/")
	var err error
	if typ == "msg" {
		var l *gofabric.Listener
		if l, err = gofabric.Listen(ctx, "127.0.0.1:0",
			gofabric.Config{Provider: provider, Caps: core.CapMsg | core.CapRMA}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		var wg sync.WaitGroup
		wg.Go(func() {
			e, err := l.Accept(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			b = e
		})
		a, err = gofabric.Dial(ctx, strings.TrimPrefix(l.Addr().String(), "fi_sockaddr_in://"),
			gofabric.Config{Provider: provider, Caps: core.CapMsg | core.CapRMA})
		wg.Wait()
		to = gofabric.Connected
	} else {
		open := func() (*gofabric.Endpoint, error) {
			return gofabric.Open(ctx,
				gofabric.Config{Provider: provider, Node: "127.0.0.1", Caps: core.CapMsg | core.CapRMA})
		}
		if a, err = open(); err == nil {
			t.Cleanup(func() { a.Close() })
			if b, err = open(); err == nil {
				to, err = a.InsertAddr(b.Name())
			}
		}
	}
	if err != nil || b == nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(); a.Close() })
	return a, b, to
}

// TestKeysAreRandom checks keys that the provider chooses: each of the 64 bits is 0 as often as 1, independent of the
// key before, and no difference between two keys occurs twice.
func TestKeysAreRandom(t *testing.T) {
	const n = 2000
	for _, stack := range stacks {
		t.Run(stack, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, b, _ := pair(t, ctx, stack)
			var set, changed [64]int
			seen, steps := map[uint64]bool{}, map[uint64]bool{}
			last, buf := uint64(0), make([]byte, 8)
			for i := range n {
				m, err := b.Register(buf, remote)
				if err != nil {
					t.Fatal(err)
				}
				k := m.Remote().Key
				if seen[k] || i > 0 && steps[k-last] {
					t.Fatalf("key %d, %#x, has been used before, or follows from the one before", i, k)
				}
				seen[k], steps[k-last] = true, true
				for x := k; x != 0; x &= x - 1 {
					set[bits.TrailingZeros64(x)]++
				}
				for x := k ^ last; x != 0; x &= x - 1 {
					changed[bits.TrailingZeros64(x)]++
				}
				last = k
				if i%2 == 0 {
					m.Close()
				}
			}
			for i := range 64 { // half of them, within nine standard deviations
				if set[i] < n*2/5 || set[i] > n*3/5 || changed[i] < n*2/5 || changed[i] > n*3/5 {
					t.Errorf("bit %d is set in %d of %d keys, and changes %d times", i, set[i], n, changed[i])
				}
			}
		})
	}
}

// TestKeyDies closes a region while peers write to it and read from it all the time. After Close has returned, no
// write arrives in the memory, and no read returns what is written there later. The operations end with
// FI_EKEYREJECTED, and the connection continues.
func TestKeyDies(t *testing.T) {
	for _, stack := range stacks {
		for _, size := range []int{8, 4 << 10, 256 << 10} {
			t.Run(fmt.Sprintf("%s/%d", stack, size), func(t *testing.T) { keyDies(t, stack, size) })
		}
	}
}

func keyDies(t *testing.T, stack string, size int) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	a, b, to := pair(t, ctx, stack)
	mem, other := make([]byte, region), make([]byte, 16)
	m, err := b.Register(mem, remote)
	if err != nil {
		t.Fatal(err)
	}
	stays, err := b.Register(other, remote)
	if err != nil {
		t.Fatal(err)
	}
	where := m.Remote()
	var wg sync.WaitGroup
	var done, after atomic.Int64
	var closed atomic.Bool
	for i := range 4 {
		wg.Go(func() {
			buf := bytes.Repeat([]byte{byte(i + 1)}, size)
			for {
				var err error
				began := closed.Load()
				if i%2 == 0 {
					err = a.Write(ctx, to, buf, where, uint64(i)<<18%(region-uint64(size)+1))
				} else if err = a.Read(ctx, to, buf, where, uint64(i)<<17); err == nil &&
					bytes.IndexByte(buf, mine) >= 0 {
					t.Error("a peer has read data that was written after the region was closed")
				}
				switch {
				case err == nil && began:
					t.Error("an access that began after the region was closed has succeeded")
					return
				case err == nil:
					done.Add(1)
				case errors.Is(err, core.ErrKeyRejected):
					if after.Add(1); began {
						return
					}
				default:
					t.Errorf("%v, want FI_EKEYREJECTED", err)
					return
				}
			}
		})
	}
	for done.Load() < 50 && ctx.Err() == nil && !t.Failed() {
		runtime.Gosched()
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	for i := range mem { // the memory belongs to the owner from now on
		mem[i] = mine
	}
	closed.Store(true)
	wg.Wait()
	if bytes.Count(mem, []byte{mine}) != len(mem) {
		t.Error("a peer has written into the memory after the region was closed")
	}
	if after.Load() == 0 {
		t.Error("no access was refused")
	}
	if err := a.Write(ctx, to, []byte("it goes on"), stays.Remote(), 0); err != nil {
		t.Errorf("another region: %v", err)
	}
	back := make([]byte, 10)
	if err := a.Read(ctx, to, back, stays.Remote(), 0); err != nil || string(back) != "it goes on" {
		t.Errorf("%q, %v", back, err)
	}
}
