package directory

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strconv"
	"time"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/directory/store"
)

// Bounds of requests.
const (
	requestTime = 10 * time.Second // for an answer of the store
	maxWait     = time.Minute      // of a client's request
	maxList     = 1000             // entries in one answer
	maxAnswer   = 1 << 20          // of names and values in one answer, in bytes
)

func (p *Part) routes(mux *daemon.Mux) {
	mux.HandleFunc("PUT /v1/names/{name...}", reply(p.putName))
	mux.HandleFunc("GET /v1/names/{name...}", reply(p.getName))
	mux.HandleFunc("DELETE /v1/names/{name...}", reply(p.deleteFrom(store.Names, "name")))
	mux.HandleFunc("GET /v1/names", daemon.BulkFunc(reply(p.listNames)))
	mux.HandleFunc("DELETE /v1/names", reply(p.deletePrefix(store.Names)))
	mux.HandleFunc("POST /v1/leases/{id}", reply(p.renew))
	mux.HandleFunc("GET /v1/watch", p.watch)
	mux.HandleFunc("PUT /v1/kv/{key...}", reply(p.putValue))
	mux.HandleFunc("GET /v1/kv/{key...}", reply(p.getValue))
	mux.HandleFunc("DELETE /v1/kv/{key...}", reply(p.deleteFrom(store.Values, "key")))
	mux.HandleFunc("GET /v1/kv", daemon.BulkFunc(reply(p.listValues)))
	mux.HandleFunc("DELETE /v1/kv", reply(p.deletePrefix(store.Values)))
	mux.HandleFunc("POST /v1/fence/{name...}", reply(p.arrive))
}

// callerOf returns the caller in the store's form.
func callerOf(r *http.Request) store.Caller {
	c := daemon.CallerOf(r)
	return store.Caller{UID: c.UID, All: c.Root(os.Getuid())}
}

// within bounds the time of a request. The request continues when its context ends, because net/http also ends the
// context of a client that has only closed its sending direction (shutdown(2)).
func within(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), requestTime)
}

func reply(handle daemon.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := handle(w, r)
		daemon.Reply(w, v, refusal(err))
	}
}

// refusal gives an error of the store its HTTP status.
func refusal(err error) error {
	for _, m := range []struct {
		err    error
		status int
		hint   string
	}{
		{store.ErrInvalid, http.StatusBadRequest, ""},
		{store.ErrNotFound, http.StatusNotFound, ""},
		{store.ErrNotYours, http.StatusForbidden, "only its owner and root may change it"},
		{store.ErrQuota, http.StatusInsufficientStorage, "delete some, or raise entries-per-user, bytes-per-user, entries or bytes of fabricd"},
		{store.ErrCompacted, http.StatusGone, "list again, and watch from the revision of the list"},
		{store.ErrDown, http.StatusServiceUnavailable, "try again, and see fabricd's log"},
		{context.DeadlineExceeded, http.StatusServiceUnavailable, "try again, and see fabricd's log"},
		{context.Canceled, http.StatusServiceUnavailable, ""},
	} {
		if errors.Is(err, m.err) {
			return daemon.Refusal(m.status, m.hint, "%v", err)
		}
	}
	return err
}

// duration parses a time in a request. "" is missing.
func duration(what, text string, missing time.Duration) (time.Duration, error) {
	if text == "" {
		return missing, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, daemon.Refusal(http.StatusBadRequest, "write a time as 30s or 1m30s", "%s %q is not a time", what, text)
	}
	return d, nil
}

// lease parses the lifetime of an entry. "" is missing.
func lease(text string, missing time.Duration) (time.Duration, error) {
	ttl, err := duration("lease", text, missing)
	if err == nil && ttl == 0 && text != "" {
		err = daemon.Refusal(http.StatusBadRequest, "for an entry that remains until it is deleted, leave the lease out", "a lease of %q would end at once", text)
	}
	return ttl, err
}

// number parses a number in the query, which must not be negative.
func number(r *http.Request, what string, missing uint64) (uint64, error) {
	text := r.URL.Query().Get(what)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, daemon.Refusal(http.StatusBadRequest, "", "%s %q is not a number", what, text)
	}
	return n, nil
}

// list returns the part of a table that the query selects.
func (p *Part) list(r *http.Request, k store.Kind) (store.List, error) {
	limit, err := number(r, "limit", maxList)
	if err != nil {
		return store.List{}, err
	}
	ctx, cancel := within(r)
	defer cancel()
	q := r.URL.Query()
	list, err := p.store.List(ctx, callerOf(r), k, q.Get("prefix"), q.Get("after"), int(min(max(limit, 1), maxList)))
	return shorten(list), err
}

// shorten limits an answer to about maxAnswer bytes: a thousand values may have 256 MiB. The client asks again for
// the rest.
func shorten(list store.List) store.List {
	size := 0
	for i := range list.Entries {
		if size += len(list.Entries[i].Key) + len(list.Entries[i].Value); size > maxAnswer && i > 0 {
			list.Entries, list.More = list.Entries[:i], true
			break
		}
	}
	return list
}
