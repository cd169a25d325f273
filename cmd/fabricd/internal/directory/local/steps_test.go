package local

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gofabric/cmd/fabricd/internal/directory/disk/paper"
	"gofabric/cmd/fabricd/internal/directory/store"
)

// hitch is something that befalls a disk with one of its calls.
type hitch struct {
	what string
	at   func(d *paper.Disk, call int)
	luck uint64 // how many seeds
	ends bool   // the process, or with machine the machine
	full bool   // until it is given room
}

var hitches = []hitch{
	{what: "the process is killed", at: (*paper.Disk).EndAfter, luck: 2, ends: true},
	{what: "the machine ends", at: (*paper.Disk).EndAfter, luck: 6, ends: true},
	{what: "the disk is full", at: (*paper.Disk).FullAfter, luck: 2, full: true},
	{what: "the call fails", at: (*paper.Disk).FailAfter, luck: 4},
}

// TestEveryStep has each of the calls to the disk that a store makes, from its first beginning over changes, new logs, snapshots and the removal of old files to its end,
// be the one at which a process or a machine ends, the disk becomes full, or the call fails. What was acknowledged is there afterwards; the store begins again, also on
// a disk that is still full, and takes changes again when there is room.
func TestEveryStep(t *testing.T) {
	for _, h := range hitches {
		most := 0
		for luck := range h.luck {
			for call := 0; ; call++ {
				reached, failed := false, false
				synctest.Test(t, func(t *testing.T) {
					x := &trial{t: t, seed: luck, rand: rand.New(rand.NewPCG(luck, 2)), disk: paper.New(luck*1000 + uint64(call)), truth: map[string]*truth{}}
					reached = x.befall(h, call)
					failed = t.Failed()
				})
				if failed {
					t.Fatalf("%s with call %d, luck %d", h.what, call, luck)
				}
				if !reached {
					most = max(most, call)
					break
				}
			}
		}
		t.Logf("%s: with each of %d calls", h.what, most)
		if most < 100 {
			t.Errorf("%s: only %d calls", h.what, most)
		}
	}
}

// befall is a store's life in which something happens with a call, and what comes after it. It reports whether there was that call.
func (x *trial) befall(h hitch, call int) (reached bool) {
	h.at(x.disk, call)
	if x.begin() == nil {
		x.work(40)
		if !h.ends && !h.full { // a disk that fails once is well again
			x.recover()
			x.mustChange()
		}
		if err := x.store.Close(); err != nil && !x.disk.Ended() && h.ends {
			x.errorf("%v", err)
		}
	}
	reached = x.disk.Calls() > call
	x.disk.Begin(h.what == "the machine ends")
	x.disk.FailAfter(paper.Never)
	if err := x.begin(); err != nil {
		x.errorf("it does not begin again: %v", err)
		return reached
	}
	x.check()
	if h.full {
		x.work(3) // which may be refused
		x.recover()
	}
	x.mustChange()
	if err := x.store.Close(); err != nil {
		x.errorf("%v", err)
	}
	if err := x.begin(); err != nil {
		x.errorf("it does not begin a third time: %v", err)
		return reached
	}
	x.check()
	_ = x.store.Close()
	return reached
}

func (x *trial) begin() (err error) {
	x.store, err = Open(Options{Folder: x.disk, Grace: time.Hour, Log: slog.New(slog.DiscardHandler), snapshotMin: 600})
	return err
}

// work is n changes, one after the other.
func (x *trial) work(n int) {
	for i := range n {
		key := fmt.Sprint("k", i%2)
		k := x.truth[key]
		if k == nil {
			k = &truth{}
			x.truth[key] = k
		}
		value, err := "", error(nil)
		if i%5 == 4 && k.value != "" {
			_, err = x.store.Delete(x.t.Context(), alice, store.Names, key)
		} else {
			value = fmt.Sprint(i, x.disk.Calls(), strings.Repeat("x", 100))
			_, err = x.store.Put(x.t.Context(), alice, store.Request{Kind: store.Names, Key: key, Value: []byte(value)})
		}
		switch {
		case err == nil:
			k.becomes(value)
		case errors.Is(err, store.ErrDown):
			k.maybe = append(k.maybe, value)
			time.Sleep(firstRepair) // virtual
		default:
			x.errorf("%v", err)
		}
		synctest.Wait() // snapshots too
	}
}

// mustChange is a change that nothing stands in the way of, but perhaps the one call that fails.
func (x *trial) mustChange() {
	const key = "last"
	put := func() error {
		_, err := x.store.Put(x.t.Context(), alice, store.Request{Kind: store.Names, Key: key, Value: []byte("x")})
		return err
	}
	err := put()
	if errors.Is(err, store.ErrDown) {
		x.recover()
		err = put()
	}
	if err != nil {
		x.errorf("the disk is well, but %v", err)
		return
	}
	k := &truth{}
	k.becomes("x")
	x.truth[key] = k
}
