package directory

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/directory/store"
	"gofabric/internal/fabricd/api"
)

// alive is the interval at which a watch without changes sends a line, so that both ends notice a lost connection.
const alive = 15 * time.Second

// watch streams changes of names. The deadline of its connection ends a client that does not read, or the client
// gets an error that it fell behind.
func (p *Part) watch(w http.ResponseWriter, r *http.Request) {
	from, err := number(r, "from", 0)
	var watcher store.Watcher
	if err == nil {
		limit, done := within(r)
		watcher, err = p.store.Watch(limit, callerOf(r), store.Names, r.URL.Query().Get("prefix"), from)
		done()
	}
	if err != nil {
		daemon.Reply(w, nil, refusal(err))
		return
	}
	ctx, cancel := p.untilEnd(r)
	defer cancel()
	w.Header().Set("Content-Type", "application/jsonl")
	out := json.NewEncoder(w)
	events, revision := []store.Event(nil), watcher.At()
	for {
		daemon.Extend(w, alive)
		if tell(out, events, revision) != nil || http.NewResponseController(w).Flush() != nil {
			return // the client has closed the connection
		}
		limit, stop := context.WithTimeout(ctx, alive)
		events, revision, err = watcher.Next(limit)
		stop()
		if ctx.Err() != nil {
			return
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			_ = out.Encode(finalEvent(err, revision)) // the client may have closed the connection
			return
		}
	}
}

// tell writes a line for each change, or a line that reports that there is none.
func tell(out *json.Encoder, events []store.Event, revision uint64) error {
	if len(events) == 0 {
		return out.Encode(api.Event{Type: "alive", Revision: revision})
	}
	for i := range events {
		e := &events[i]
		if err := out.Encode(api.Event{Type: e.Type.String(), Revision: e.Revision, Name: e.Key, Address: string(e.Value), Owner: e.UID}); err != nil {
			return err
		}
	}
	return nil
}

// finalEvent returns the event that says why a watch ends and how to continue.
func finalEvent(err error, revision uint64) api.Event {
	status, hint := http.StatusServiceUnavailable, "watch again from this revision"
	if errors.Is(err, store.ErrCompacted) {
		status, hint = http.StatusGone, "list again, and watch from the revision of the list"
	}
	return api.Event{Type: "error", Revision: revision, Error: &api.Error{Status: status, Message: err.Error(), Hint: hint}}
}

// untilEnd returns a request's context that also ends with the daemon, for requests that wait.
func (p *Part) untilEnd(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(p.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}
