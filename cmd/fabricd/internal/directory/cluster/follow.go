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

// load fills the mirror with what there is, and returns at which revision.
func (s *Store) load(ctx context.Context) (revision int64, err error) {
	fresh := map[string]owned{}
	for _, kind := range []store.Kind{store.Names, store.Values, store.Fences} {
		from, end := s.key(kind, ""), clientv3.GetPrefixRangeEnd(s.key(kind, ""))
		for more := true; more; {
			opts := []clientv3.OpOption{clientv3.WithRange(end), clientv3.WithLimit(pageSize(kind))}
			if revision != 0 {
				opts = append(opts, clientv3.WithRev(revision)) // all of one moment
			}
			r, err := s.client.Get(ctx, from, opts...)
			if err != nil {
				return 0, err
			}
			if revision == 0 {
				revision = r.Header.Revision
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
	return revision, nil
}

// follow feeds watchers and mirror until ctx ends. revision is the last that they know.
func (s *Store) follow(ctx context.Context, revision int64) {
	for ctx.Err() == nil {
		err := s.followOnce(ctx, &revision)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, rpctypes.ErrCompacted) {
			s.log.Warn("etcd's history was compacted before this node read it; watchers must list again", "revision", revision)
			revision = s.reload(ctx)
			continue
		}
		s.log.Warn("the watch of etcd ended, again", "revision", revision, "error", err)
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
}

// reload begins anew. Watchers are told that something is missing.
func (s *Store) reload(ctx context.Context) (revision int64) {
	for ctx.Err() == nil {
		limit, cancel := context.WithTimeout(ctx, openTimeout)
		revision, err := s.load(limit)
		cancel()
		if err == nil {
			s.feed.Reset(uint64(revision))
			return revision
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
	for r := range w {
		if err := r.Err(); err != nil {
			return err
		}
		if r.IsProgressNotify() {
			*revision = max(*revision, r.Header.Revision)
			s.feed.Publish(nil, uint64(*revision))
			continue
		}
		if len(r.Events) == 0 {
			continue
		}
		events := s.events(r.Events)
		*revision = r.Events[len(r.Events)-1].Kv.ModRevision
		s.feed.Publish(events, uint64(*revision))
	}
	return errors.New("etcd closed it")
}

// events turns etcd's events into the directory's. Those of one revision come together.
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
