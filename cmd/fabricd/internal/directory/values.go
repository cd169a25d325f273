package directory

import (
	"context"
	"errors"
	"net/http"
	"time"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/internal/fabricd/api"
)

// valueTTL is the default lifetime of a value: jobs end without cleaning up.
const valueTTL = 24 * time.Hour

func (p *Part) putValue(w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.Value
	if err := daemon.Read(w, r, &in); err != nil {
		return nil, err
	}
	missing := valueTTL
	if in.LeaseID != "" {
		missing = 0
	}
	ttl, err := lease(in.Lease, missing)
	if err != nil {
		return nil, err
	}
	return p.put(r, store.Request{Kind: store.Values, Key: r.PathValue("key"), Value: in.Value, Private: in.Private, TTL: ttl, Lease: in.LeaseID})
}

func (p *Part) getValue(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := store.CheckKey(r.PathValue("key")); err != nil {
		return nil, err
	}
	wait, err := duration("wait", r.URL.Query().Get("wait"), 0)
	if err != nil {
		return nil, err
	}
	wait = min(wait, maxWait)
	daemon.Extend(w, wait)
	ctx, cancel := within(r)
	if wait > 0 {
		cancel()
		ctx, cancel = p.untilEnd(r)
	}
	defer cancel()
	e, err := p.await(ctx, callerOf(r), r.PathValue("key"), wait)
	return valueOf(&e), err
}

// await returns a value. It waits until the value exists.
func (p *Part) await(ctx context.Context, who store.Caller, key string, wait time.Duration) (store.Entry, error) {
	ctx, done := context.WithTimeout(ctx, wait+requestTime)
	defer done()
	e, err := p.store.Get(ctx, who, store.Values, key)
	if wait == 0 || !errors.Is(err, store.ErrNotFound) {
		return e, err
	}
	limit, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		watcher, werr := p.store.Watch(ctx, who, store.Values, key, 0)
		if werr != nil {
			return e, werr
		}
		if e, err = p.store.Get(ctx, who, store.Values, key); !errors.Is(err, store.ErrNotFound) {
			return e, err
		}
		for changed := false; !changed; {
			events, _, werr := watcher.Next(limit)
			switch {
			case limit.Err() != nil:
				return e, err // the value does not exist yet
			case errors.Is(werr, store.ErrCompacted):
				changed = true
			case werr != nil:
				return e, werr
			}
			for i := range events {
				changed = changed || events[i].Key == key
			}
		}
	}
}

func valueOf(e *store.Entry) api.Value {
	return api.Value{Key: e.Key, Value: e.Value, Owner: e.UID, Private: e.Private, Expires: e.Expires, Revision: e.Revision}
}

func (p *Part) listValues(_ http.ResponseWriter, r *http.Request) (any, error) {
	list, err := p.list(r, store.Values)
	out := api.Values{Values: []api.Value{}, Revision: list.Revision, More: list.More}
	for i := range list.Entries {
		out.Values = append(out.Values, valueOf(&list.Entries[i]))
	}
	return out, err
}
