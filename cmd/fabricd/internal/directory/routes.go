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
	mux.HandleFunc("PUT /v1/names/{name...}", p.putName)
	mux.HandleFunc("GET /v1/names/{name...}", p.getName)
	mux.HandleFunc("DELETE /v1/names/{name...}", p.deleteFrom(store.Names, "name"))
	mux.HandleFunc("GET /v1/names", daemon.BulkFunc(p.listNames))
	mux.HandleFunc("DELETE /v1/names", p.deletePrefix(store.Names))
	mux.HandleFunc("POST /v1/leases/{id}", p.renew)
	mux.HandleFunc("GET /v1/watch", p.watch)
	mux.HandleFunc("PUT /v1/kv/{key...}", p.putValue)
	mux.HandleFunc("GET /v1/kv/{key...}", p.getValue)
	mux.HandleFunc("DELETE /v1/kv/{key...}", p.deleteFrom(store.Values, "key"))
	mux.HandleFunc("GET /v1/kv", daemon.BulkFunc(p.listValues))
	mux.HandleFunc("DELETE /v1/kv", p.deletePrefix(store.Values))
	mux.HandleFunc("POST /v1/fence/{name...}", p.arrive)
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

// refuse answers with the HTTP status of err.
func refuse(w http.ResponseWriter, err error) {
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
			daemon.Refuse(w, m.status, m.hint, "%v", err)
			return
		}
	}
	daemon.Refuse(w, http.StatusInternalServerError, "", "%v", err)
}

// duration parses a time in a request. "" is missing.
func duration(w http.ResponseWriter, what, text string, missing time.Duration) (time.Duration, bool) {
	if text == "" {
		return missing, true
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		daemon.Refuse(w, http.StatusBadRequest, "write a time as 30s or 1m30s", "%s %q is not a time", what, text)
		return 0, false
	}
	return d, true
}

// lease parses the lifetime of an entry. "" is missing.
func lease(w http.ResponseWriter, text string, missing time.Duration) (time.Duration, bool) {
	ttl, ok := duration(w, "lease", text, missing)
	if ok && ttl == 0 && text != "" {
		daemon.Refuse(w, http.StatusBadRequest, "for an entry that remains until it is deleted, leave the lease out", "a lease of %q would end at once", text)
		return 0, false
	}
	return ttl, ok
}

// number parses a number in the query, which must not be negative.
func number(w http.ResponseWriter, r *http.Request, what string, missing uint64) (uint64, bool) {
	text := r.URL.Query().Get(what)
	if text == "" {
		return missing, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		daemon.Refuse(w, http.StatusBadRequest, "", "%s %q is not a number", what, text)
		return 0, false
	}
	return n, true
}

// list returns the part of a table that the query selects.
func (p *Part) list(w http.ResponseWriter, r *http.Request, k store.Kind) (store.List, bool) {
	limit, ok := number(w, r, "limit", maxList)
	if !ok {
		return store.List{}, false
	}
	ctx, cancel := within(r)
	defer cancel()
	q := r.URL.Query()
	list, err := p.store.List(ctx, callerOf(r), k, q.Get("prefix"), q.Get("after"), int(min(max(limit, 1), maxList)))
	if err != nil {
		refuse(w, err)
		return list, false
	}
	return shorten(list), true
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
