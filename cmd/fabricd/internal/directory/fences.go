package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// fenceID identifies a fence. Each user has fences of their own.
type fenceID struct {
	uid, size int
	name      string
}

func (id fenceID) String() string { return fmt.Sprintf("fence %q of %d", id.name, id.size) }

// key returns the store's key for the arrival of a rank: uid/size/generation/length of the name/name/rank.
func (id fenceID) key(generation, rank int) string {
	return fmt.Sprintf("%s%d", id.prefix(generation), rank)
}

// prefix returns the prefix of the keys of one generation. Names have slashes: without the length, one name could
// be a prefix of another.
func (id fenceID) prefix(generation int) string {
	return fmt.Sprintf("%d/%d/%d/%d/%s/", id.uid, id.size, generation, len(id.name), id.name)
}

// parseArrival is the inverse of key.
func parseArrival(key string) (id fenceID, generation, rank int, ok bool) {
	parts := strings.Split(key, "/")
	n := len(parts)
	if n < 6 {
		return id, 0, 0, false
	}
	var numbers [5]int
	for i, p := range []string{parts[0], parts[1], parts[2], parts[3], parts[n-1]} {
		v, err := strconv.Atoi(p)
		if err != nil {
			return id, 0, 0, false
		}
		numbers[i] = v
	}
	id = fenceID{uid: numbers[0], size: numbers[1], name: strings.Join(parts[4:n-1], "/")}
	generation, rank = numbers[2], numbers[4]
	return id, generation, rank, len(id.name) == numbers[3] && id.size > 0 && id.size <= maxRanks && rank >= 0 && rank < id.size && generation >= 0
}

// fences has the arrivals at fences. It learns them from the store's changes, so that ranks may arrive at any
// daemon of a cluster. The last complete generation stays in the store until the next one is complete, so that a
// new daemon knows the open one.
type fences struct {
	store store.Store
	log   *slog.Logger
	work  sync.WaitGroup

	mu    sync.Mutex
	known map[fenceID]*fence
	err   error // the watch ended: no further arrivals are reported
}

// fence is the state of a fence.
type fence struct {
	complete    int // last complete generation; -1 for none
	generations map[int]*generation
}

// generation is one use of a fence.
type generation struct {
	came    map[int]struct{}
	waiting int
	done    chan struct{} // closed when complete
}

func newFences(ctx context.Context, s store.Store, log *slog.Logger) (*fences, error) {
	f := &fences{store: s, log: log, known: map[fenceID]*fence{}}
	w, err := f.list(ctx)
	if err != nil {
		return nil, err
	}
	f.work.Go(func() { f.follow(ctx, w) })
	return f, nil
}

// asDaemon returns the daemon as a caller of the store.
func asDaemon() store.Caller { return store.Caller{UID: os.Getuid(), All: true} }

// list reads the arrivals in the store, forgets those that are gone, and returns a watch of further changes.
func (f *fences) list(ctx context.Context) (store.Watcher, error) {
	after := ""
	there := map[string]bool{}
	revision := uint64(0)
	for {
		list, err := f.store.List(ctx, asDaemon(), store.Fences, "", after, maxList)
		if err != nil {
			return nil, err
		}
		if after == "" {
			revision = list.Revision
		}
		for i := range list.Entries {
			after = list.Entries[i].Key
			there[after] = true
			f.learn(store.Put, after)
		}
		if !list.More {
			f.keep(there)
			return f.store.Watch(ctx, asDaemon(), store.Fences, "", revision)
		}
	}
}

// follow reads changes. The history is bounded: if follow falls behind, it lists again.
func (f *fences) follow(ctx context.Context, w store.Watcher) {
	for {
		events, _, err := w.Next(ctx)
		for errors.Is(err, store.ErrCompacted) {
			w, err = f.list(ctx)
		}
		if err != nil {
			f.becomeFailed(err)
			return
		}
		for i := range events {
			f.learn(events[i].Type, events[i].Key)
		}
	}
}

// becomeFailed ends all waits.
func (f *fences) becomeFailed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = fmt.Errorf("%w: %w", store.ErrDown, err)
	for _, fence := range f.known {
		for n, g := range fence.generations {
			if n > fence.complete {
				close(g.done)
			}
		}
	}
	clear(f.known)
}

func (f *fences) wait() { f.work.Wait() }

// learn applies a change.
func (f *fences) learn(t store.EventType, key string) {
	id, n, rank, ok := parseArrival(key)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if t != store.Put {
		f.forget(id, n, rank)
		return
	}
	fence, g := f.at(id, n)
	g.came[rank] = struct{}{}
	if n < fence.complete && len(g.came) == 1 { // it was not removed, or the removal failed
		f.work.Go(func() { f.remove(id, n) })
	}
	if len(g.came) < id.size || n <= fence.complete {
		return
	}
	f.becomeComplete(id, fence, n)
}

// becomeComplete releases the waits for generation n, and forgets older ones.
func (f *fences) becomeComplete(id fenceID, fence *fence, n int) {
	for k, g := range fence.generations {
		if k > fence.complete && k <= n {
			close(g.done)
		}
	}
	fence.complete = n
	for k := range fence.generations {
		if k < n {
			f.work.Go(func() { f.remove(id, k) })
		}
	}
}

// remove deletes an old generation. Any daemon of a cluster may do so.
func (f *fences) remove(id fenceID, generation int) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	if _, _, err := f.store.DeletePrefix(ctx, asDaemon(), store.Fences, id.prefix(generation)); err != nil && !errors.Is(err, store.ErrDown) {
		f.log.Warn("an old generation of a fence stays until its lease ends", "fence", id, "error", err)
	}
}

// at returns a generation. It makes one if necessary.
func (f *fences) at(id fenceID, n int) (*fence, *generation) {
	known := f.known[id]
	if known == nil {
		known = &fence{complete: -1, generations: map[int]*generation{}}
		f.known[id] = known
	}
	g := known.generations[n]
	if g == nil {
		g = &generation{came: map[int]struct{}{}, done: make(chan struct{})}
		if n <= known.complete || f.err != nil {
			close(g.done)
		}
		known.generations[n] = g
	}
	return known, g
}

// forget removes an arrival that the store no longer has. A complete generation remains complete.
func (f *fences) forget(id fenceID, n, rank int) {
	fence := f.known[id]
	if fence == nil || fence.generations[n] == nil {
		return
	}
	delete(fence.generations[n].came, rank)
	f.tidy(id, n)
}

// keep forgets arrivals that are not in the store: their removal was not reported. Later arrivals will be reported.
func (f *fences) keep(there map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, fence := range f.known {
		for n, g := range fence.generations {
			for rank := range g.came {
				if !there[id.key(n, rank)] {
					delete(g.came, rank)
				}
			}
			f.tidy(id, n)
		}
	}
}

// tidy drops state that is no longer needed.
func (f *fences) tidy(id fenceID, n int) {
	fence := f.known[id]
	if fence == nil {
		return
	}
	if g := fence.generations[n]; g != nil && len(g.came) == 0 && g.waiting == 0 {
		delete(fence.generations, n)
	}
	if len(fence.generations) == 0 {
		delete(f.known, id)
	}
}

// open returns the generation at which ranks arrive now.
func (f *fences) open(id fenceID) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.known[id]; known != nil {
		return known.complete + 1
	}
	return 0
}

// has reports whether a rank has arrived.
func (f *fences) has(id fenceID, n, rank int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.known[id]
	if known == nil {
		return false
	}
	if n <= known.complete {
		return true
	}
	g := known.generations[n]
	if g == nil {
		return false
	}
	_, ok := g.came[rank]
	return ok
}

// await waits until a generation is complete.
func (f *fences) await(ctx context.Context, id fenceID, n int) error {
	f.mu.Lock()
	known, g := f.at(id, n)
	if n <= known.complete {
		f.tidy(id, n)
		f.mu.Unlock()
		return nil
	}
	g.waiting++
	f.mu.Unlock()
	var err error
	select {
	case <-g.done:
	case <-ctx.Done():
		select {
		case <-g.done:
		default:
			err = ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g.waiting--
	f.tidy(id, n)
	if f.err != nil {
		return f.err
	}
	return err
}

// state returns the number of arrivals and some of the missing ranks.
func (f *fences) state(id fenceID, n int) (count int, missing []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.known[id]
	if known == nil {
		return 0, nil
	}
	if n <= known.complete {
		return id.size, nil
	}
	g := known.generations[n]
	if g == nil {
		return 0, nil
	}
	for rank := 0; rank < id.size && len(missing) < maxMissing; rank++ {
		if _, ok := g.came[rank]; !ok {
			missing = append(missing, rank)
		}
	}
	return len(g.came), missing
}
