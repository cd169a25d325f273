package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// load fills the mirror with the cluster's entries, and returns their revision and history.
func (s *Store) load(ctx context.Context) (at history, err error) {
	fresh := map[string]owned{}
	for _, kind := range []store.Kind{store.Names, store.Values, store.Fences} {
		from, end := s.key(kind, ""), clientv3.GetPrefixRangeEnd(s.key(kind, ""))
		for more := true; more; {
			opts := []clientv3.OpOption{clientv3.WithRange(end), clientv3.WithLimit(pageSize(kind))}
			if at.revision != 0 {
				opts = append(opts, clientv3.WithRev(at.revision)) // all pages at one revision
			}
			r, err := s.client.Get(ctx, from, opts...)
			if err != nil {
				return history{}, err
			}
			if at.revision == 0 {
				at = historyOf(r.Header)
			}
			for _, kv := range r.Kvs {
				if e, ok := s.entry(kv); ok {
					fresh[string(kv.Key)] = ownedBy(&e)
				}
				from = string(kv.Key) + "\x00"
			}
			more = r.More
		}
	}
	s.mirror.reset(fresh)
	return at, nil
}

// follow updates watchers and mirror until ctx ends. revision is the last one that they have.
func (s *Store) follow(ctx context.Context, revision int64) {
	for ctx.Err() == nil {
		err := s.followOnce(ctx, &revision)
		if ctx.Err() != nil {
			return
		}
		var lost errLost
		if errors.As(err, &lost) {
			revision = s.reload(ctx)
			close(lost.anew)
			continue
		}
		if errors.Is(err, rpctypes.ErrCompacted) {
			s.log.Warn("etcd's history was compacted before this node read it; watchers must list again", "revision", revision)
			revision = s.reload(ctx)
			continue
		}
		s.log.Warn("the watch of etcd ended; it is started again", "revision", revision, "error", err)
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
}

// errLost ends a watch whose history was replaced.
type errLost struct{ anew chan struct{} }

func (errLost) Error() string { return "etcd has another history" }

// reload reads everything again. Watchers get an error, because changes are missing.
func (s *Store) reload(ctx context.Context) (revision int64) {
	for ctx.Err() == nil {
		limit, cancel := context.WithTimeout(ctx, openTimeout)
		at, err := s.load(limit)
		cancel()
		if err == nil {
			s.feed.Reset(uint64(at.revision))
			return at.revision
		}
		s.log.Warn("etcd cannot be read", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return revision
}

// followOnce reads one watch to its end.
func (s *Store) followOnce(ctx context.Context, revision *int64) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	w := s.client.Watch(ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithRev(*revision+1), clientv3.WithProgressNotify())
	for {
		select {
		case anew := <-s.lost:
			return errLost{anew}
		case r, ok := <-w:
			if !ok {
				return errors.New("etcd closed it")
			}
			if err := s.heard(r, revision); err != nil {
				return err
			}
		}
	}
}

// heard publishes the events of a watch.
func (s *Store) heard(r clientv3.WatchResponse, revision *int64) error {
	switch err := r.Err(); {
	case err != nil:
		return err
	case r.IsProgressNotify():
		*revision = max(*revision, r.Header.Revision)
		s.feed.Publish(nil, uint64(*revision))
	case len(r.Events) > 0:
		events := s.events(r.Events)
		*revision = r.Events[len(r.Events)-1].Kv.ModRevision
		s.feed.Publish(events, uint64(*revision))
	}
	return nil
}

// events translates etcd's events. Those of one revision stay together.
func (s *Store) events(in []*clientv3.Event) (out []store.Event) {
	deleted := map[string]bool{} // revision and key
	id := func(revision int64, key string) string { return fmt.Sprint(revision, " ", key) }
	for _, ev := range in {
		var keys []string
		if string(ev.Kv.Key) == s.deletedKey() && ev.Type == mvccpb.PUT && json.Unmarshal(ev.Kv.Value, &keys) == nil {
			for _, k := range keys {
				deleted[id(ev.Kv.ModRevision, k)] = true
			}
		}
	}
	for _, ev := range in {
		kind, key, ok := s.parseKey(string(ev.Kv.Key))
		if !ok {
			continue
		}
		if ev.Type == mvccpb.PUT {
			if e, ok := s.entry(ev.Kv); ok {
				s.mirror.put(string(ev.Kv.Key), ownedBy(&e))
				out = append(out, store.Event{Type: store.Put, Entry: e})
			}
			continue
		}
		was := s.mirror.delete(string(ev.Kv.Key))
		end := store.Event{Type: store.Expired, Entry: store.Entry{Kind: kind, Key: key, UID: was.uid, Private: was.private, Revision: uint64(ev.Kv.ModRevision)}}
		if deleted[id(ev.Kv.ModRevision, string(ev.Kv.Key))] {
			end.Type = store.Deleted
		}
		out = append(out, end)
	}
	return out
}
