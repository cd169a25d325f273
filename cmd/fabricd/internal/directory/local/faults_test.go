package local

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gofabric/cmd/fabricd/internal/directory/disk/paper"
	"gofabric/cmd/fabricd/internal/directory/journal"
	"gofabric/cmd/fabricd/internal/directory/store"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "of TestFaults: this one only")
	seedsFlag = flag.Uint64("seeds", 150, "of TestFaults: so many")
)

// truth is what is known of one key. Only one writer changes it.
type truth struct {
	value string   // that was acknowledged; "": there is none
	maybe []string // was refused since: it may be there after a restart
}

func (k *truth) becomes(value string) { k.value, k.maybe = value, nil }
func (k *truth) allows(value string) bool {
	for _, v := range k.maybe {
		if v == value {
			return true
		}
	}
	return k.value == value
}

// trial is a store on a disk that fails, through several lives.
type trial struct {
	t     *testing.T
	seed  uint64
	rand  *rand.Rand
	disk  *paper.Disk
	store *Store

	mu    sync.Mutex
	truth map[string]*truth
	told  uint64 // the last revision that anybody was told
}

func (x *trial) errorf(format string, args ...any) {
	x.t.Errorf("-seed=%d: %s", x.seed, fmt.Sprintf(format, args...))
}

func (x *trial) tell(revision uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.told = max(x.told, revision)
}

// TestFaults: the disk's calls fail one by one or all, writes are short, there is no room, it is mounted for reading only, the process ends or the machine. What was acknowledged, or shown, is there
// when fabricd comes back; what was refused has not happened while it lives, and may or may not have, whole, when it comes back; a disk that is well again is
// written to; and nothing waits for ever (synctest says so).
func TestFaults(t *testing.T) {
	seeds := *seedsFlag
	if os.Getenv("GOFABRIC_MANY") != "" {
		seeds = max(seeds, 1000)
	}
	for seed := range seeds {
		if *seedFlag != 0 {
			seed = *seedFlag
		}
		synctest.Test(t, func(t *testing.T) {
			x := &trial{t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 2)), disk: paper.New(seed), truth: map[string]*truth{}}
			for range 6 {
				x.live()
			}
		})
		if t.Failed() || *seedFlag != 0 {
			return
		}
	}
}

// live is one life of a daemon, with faults, and its end.
func (x *trial) live() {
	faults := [...]float64{0, 0, 0.01, 0.1, 0.5}[x.rand.IntN(5)]
	x.disk.Fail(faults, 0)
	x.disk.FixAfter(paper.Never)
	if !x.open() {
		return
	}
	x.check()
	if x.rand.IntN(4) == 0 {
		x.disk.Fail(faults, x.disk.Size()+x.rand.IntN(2000))
	}
	switch x.rand.IntN(4) {
	case 0:
		x.disk.EndAtFault()
	case 1, 2:
		x.disk.EndAfter(x.rand.IntN(400))
	}
	if x.rand.IntN(6) == 0 {
		x.disk.FixAfter(x.rand.IntN(200))
	}
	ctx, cancel := context.WithCancel(x.t.Context())
	var work, watch sync.WaitGroup
	watch.Go(func() { x.watch(ctx) })
	for w := range 4 {
		r := rand.New(rand.NewPCG(x.rand.Uint64(), 3))
		work.Go(func() { x.change(r, w) })
	}
	work.Wait()
	if !x.disk.Ended() && x.rand.IntN(2) == 0 {
		x.recover()
	}
	if x.rand.IntN(2) == 0 { // no time to put things in order
		x.disk.EndAfter(0)
	}
	cancel()
	watch.Wait()
	_ = x.store.Close() // it may be that the machine has ended
	x.disk.Begin(x.rand.IntN(2) == 0)
}

// open begins a life; if the disk does not let it, then without faults. It reports whether that succeeded.
func (x *trial) open() bool {
	opt := Options{Folder: x.disk, Grace: time.Hour, Log: slog.New(slog.DiscardHandler), snapshotMin: [...]int64{300, 3000, 100_000}[x.rand.IntN(3)]}
	var err error
	for range 2 {
		if x.store, err = Open(opt); err == nil {
			return true
		}
		if errors.Is(err, journal.ErrDamaged) {
			break
		}
		x.disk.Begin(x.rand.IntN(2) == 0)
		x.disk.Fail(0, 0)
	}
	x.errorf("%v", err)
	return false
}

// check compares what came back with what is known, and takes it for known: it was shown.
func (x *trial) check() {
	list, err := x.store.List(x.t.Context(), root, store.Names, "", "", 1000)
	if err != nil {
		x.errorf("%v", err)
		return
	}
	if list.Revision < x.told {
		x.errorf("revision %d, but %d was told", list.Revision, x.told)
	}
	x.told = list.Revision
	found, usage := map[string]string{}, store.Usage{}
	for i := range list.Entries {
		e := &list.Entries[i]
		found[e.Key] = string(e.Value)
		usage.Entries, usage.Bytes = usage.Entries+1, usage.Bytes+e.Size()
		if x.truth[e.Key] == nil {
			x.errorf("%s was never written", e.Key)
			return
		}
	}
	if got := x.store.Usage(); got != usage {
		x.errorf("usage %+v, but there is %+v", got, usage)
	}
	for key, k := range x.truth {
		if v := found[key]; !k.allows(v) {
			x.errorf("%s is %.20q, want %.20q or one of %.20q", key, v, k.value, k.maybe)
		}
		k.becomes(found[key])
	}
}

// change is a writer at work on keys of its own.
func (x *trial) change(r *rand.Rand, writer int) {
	for i := range r.IntN(60) {
		key := fmt.Sprint("w", writer, "/", r.IntN(3))
		x.mu.Lock()
		k := x.truth[key]
		if k == nil {
			k = &truth{}
			x.truth[key] = k
		}
		x.mu.Unlock()
		value, revision, err := "", uint64(0), error(nil)
		if r.IntN(4) == 0 {
			revision, err = x.store.Delete(x.t.Context(), alice, store.Names, key)
			if k.value == "" && errors.Is(err, store.ErrNotFound) {
				continue
			}
		} else {
			value = fmt.Sprintf("%d %x ", i, r.Uint32()) + strings.Repeat("x", r.IntN(300))
			var e store.Entry
			e, err = x.store.Put(x.t.Context(), alice, store.Request{Kind: store.Names, Key: key, Value: []byte(value), TTL: time.Duration(r.IntN(2)) * 500 * time.Hour})
			revision = e.Revision
		}
		switch {
		case err == nil:
			k.becomes(value)
			x.tell(revision)
		case errors.Is(err, store.ErrDown):
			k.maybe = append(k.maybe, value)
			time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond) // virtual: while the disk is tried again
		default:
			x.errorf("%v", err)
		}
		switch e, err := x.store.Get(x.t.Context(), root, store.Names, key); {
		case err == nil && string(e.Value) == k.value, errors.Is(err, store.ErrNotFound) && k.value == "", errors.Is(err, store.ErrDown):
		default:
			x.errorf("%s is %.20q, %v, acknowledged was %.20q", key, e.Value, err, k.value)
		}
	}
}

// watch is somebody who wants to hear of each change, once.
func (x *trial) watch(ctx context.Context) {
	w, err := x.store.Watch(ctx, root, store.Names, "", 0)
	if err != nil {
		x.errorf("%v", err)
		return
	}
	for at := w.At(); ; {
		events, now, err := w.Next(ctx)
		if err != nil {
			return // the end
		}
		for i := range events {
			if at++; events[i].Revision != at {
				x.errorf("revision %d was told behind %d", events[i].Revision, at-1)
				return
			}
		}
		x.tell(now)
	}
}

// recover waits until a disk that is well again is written to.
func (x *trial) recover() {
	x.disk.Fail(0, 0)
	x.disk.EndAfter(paper.Never)
	x.disk.FixAfter(paper.Never)
	time.Sleep(2 * lastRepair)
	if err := x.store.Trouble(); err != nil {
		x.errorf("the disk is well, but %v", err)
	}
}
