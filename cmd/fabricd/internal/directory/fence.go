package directory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/internal/fabricd/api"
)

// Bounds of fences.
const (
	maxRanks   = 1 << 16
	maxMissing = 16 // ranks named in an answer
	fenceTTL   = 24 * time.Hour
)

func (p *Part) arrive(w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.Arrival
	if err := daemon.Read(w, r, &in); err != nil {
		return nil, err
	}
	wait, err := duration("wait", in.Wait, 0)
	if err != nil {
		return nil, err
	}
	name, caller := r.PathValue("name"), callerOf(r)
	switch err := store.CheckKey(name); {
	case err != nil:
		return nil, err
	case len(name) > store.MaxKey-64: // an arrival's key has these bytes besides the name
		return nil, fmt.Errorf("%w name: %d bytes, more than %d for a fence", store.ErrInvalid, len(name), store.MaxKey-64)
	case in.Size < 1 || in.Size > maxRanks || in.Rank < 0 || in.Rank >= in.Size:
		return nil, fmt.Errorf("%w arrival: rank %d of %d (at most %d)", store.ErrInvalid, in.Rank, in.Size, maxRanks)
	}
	wait = min(wait, maxWait)
	daemon.Extend(w, wait)
	ctx, cancel := p.untilEnd(r)
	defer cancel()
	return p.arriveAndWait(ctx, caller, fenceID{uid: caller.UID, size: in.Size, name: name}, in.Rank, in.Generation, wait)
}

// arriveAndWait records an arrival, and waits for the others.
func (p *Part) arriveAndWait(ctx context.Context, who store.Caller, id fenceID, rank int, generation *int, wait time.Duration) (any, error) {
	g := p.fences.open(id)
	if generation != nil {
		if *generation < 0 || *generation > g+1 { // this node may not know yet that the generation before is complete
			return nil, fmt.Errorf("%w generation %d of %v: %d is open", store.ErrInvalid, *generation, id, g)
		}
		g = *generation
	}
	if !p.fences.has(id, g, rank) {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
		defer cancel()
		if _, err := p.store.Put(limit, who, store.Request{Kind: store.Fences, Key: id.key(g, rank), TTL: fenceTTL, Private: true}); err != nil {
			return nil, err
		}
		p.fences.learn(store.Put, id.key(g, rank)) // before the store's watch reports it
	}
	limit, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := p.fences.await(limit, id, g)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	count, missing := p.fences.state(id, g)
	return api.Arrived{Generation: g, Done: err == nil, Count: count, Missing: missing}, nil
}
