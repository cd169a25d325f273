package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"gofabric/cmd/fabricd/internal/directory/store"
)

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, who store.Caller, r store.Request) (e store.Entry, err error) {
	if err := r.Check(); err != nil {
		return e, err
	}
	err = again(ctx, func() (done bool, err error) {
		e, done, err = s.tryPut(ctx, who, r)
		return done, err
	})
	if err != nil {
		return store.Entry{}, ours(err)
	}
	return e, nil
}

// tryPut puts the entry unless another client changes the key between read and transaction. Then it returns that it
// is not done.
func (s *Store) tryPut(ctx context.Context, who store.Caller, r store.Request) (e store.Entry, done bool, err error) {
	key := s.key(r.Kind, r.Key)
	got, err := s.client.Get(ctx, key)
	if err != nil {
		return e, false, err
	}
	e = store.Entry{Kind: r.Kind, Key: r.Key, Value: r.Value, UID: who.UID, Private: r.Private, TTL: r.TTL}
	var old *mvccpb.KeyValue
	seen := int64(0)
	if len(got.Kvs) > 0 {
		old, seen = got.Kvs[0], got.Kvs[0].ModRevision
		if o, ok := s.entry(old); ok {
			if !who.May(o.UID) {
				return e, false, fmt.Errorf("%q: %w (uid %d)", r.Key, store.ErrNotYours, o.UID)
			}
			e.UID = o.UID // root changes the entry of another user, who remains its owner
		}
	}
	if err := s.mirror.admits(who, key, &e); err != nil {
		return e, false, err
	}
	lease, ttl, err := s.lease(ctx, &e, r)
	if err != nil {
		return e, false, err
	}
	e.TTL = ttl
	value, err := encode(&e)
	if err != nil {
		return e, false, err
	}
	put := clientv3.OpPut(key, value)
	if lease != 0 {
		put = clientv3.OpPut(key, value, clientv3.WithLease(lease))
		e.Lease, e.Expires = leaseText(lease), time.Now().Add(ttl)
	}
	txn, err := s.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", seen)).Then(put).Commit()
	if err != nil || !txn.Succeeded {
		if r.TTL > 0 && !passing(err) {
			s.drop(lease)
		}
		return e, false, err
	}
	e.Revision = uint64(txn.Header.Revision)
	if old != nil && old.Lease != 0 && old.Lease != int64(lease) {
		s.dropIfEmpty(ctx, clientv3.LeaseID(old.Lease))
	}
	return e, true, nil
}

// lease returns the lease of a new entry, 0 for none, and its time.
func (s *Store) lease(ctx context.Context, e *store.Entry, r store.Request) (clientv3.LeaseID, time.Duration, error) {
	switch {
	case r.Lease != "":
		id, err := parseLease(r.Lease, store.Caller{UID: e.UID})
		if err != nil {
			return 0, 0, err
		}
		left, err := s.client.TimeToLive(ctx, id)
		if err != nil {
			return 0, 0, err
		}
		if left.TTL < 0 { // 0 is less than a second
			return 0, 0, fmt.Errorf("lease %q: %w", r.Lease, store.ErrNotFound)
		}
		return id, time.Duration(left.GrantedTTL) * time.Second, nil
	case r.TTL > 0:
		seconds := int64((r.TTL + time.Second - 1) / time.Second)
		// The client's own Grant cannot set the id, which has the owner's uid.
		got, err := pb.NewLeaseClient(s.client.ActiveConnection()).LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: seconds, ID: int64(newLeaseID(e.UID))})
		if err != nil {
			return 0, 0, rpctypes.Error(err)
		}
		return clientv3.LeaseID(got.ID), time.Duration(got.TTL) * time.Second, nil
	}
	return 0, 0, nil
}

// dropTimeout bounds the revocation of an unused lease. If it fails, the lease expires.
const dropTimeout = time.Second

func (s *Store) drop(id clientv3.LeaseID) {
	ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
	defer cancel()
	_, _ = s.client.Revoke(ctx, id)
}

// dropIfEmpty revokes a lease that only held a replaced entry, so that frequent replacements do not fill etcd with
// leases.
func (s *Store) dropIfEmpty(ctx context.Context, id clientv3.LeaseID) {
	left, err := s.client.TimeToLive(ctx, id, clientv3.WithAttachedKeys())
	if err == nil && left.TTL >= 0 && len(left.Keys) == 0 {
		s.drop(id)
	}
}

// Renew implements store.Store.
func (s *Store) Renew(ctx context.Context, who store.Caller, lease string) (expires time.Time, err error) {
	id, err := parseLease(lease, who)
	if err != nil {
		return expires, err
	}
	err = again(ctx, func() (bool, error) {
		r, err := s.client.KeepAliveOnce(ctx, id)
		if err != nil {
			return false, err
		}
		expires = time.Now().Add(time.Duration(r.TTL) * time.Second)
		return true, nil
	})
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return expires, fmt.Errorf("lease %q: %w", lease, store.ErrNotFound)
	}
	return expires, ours(err)
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, who store.Caller, k store.Kind, key string) (revision uint64, err error) {
	full := s.key(k, key)
	tried := false
	err = again(ctx, func() (bool, error) {
		got, err := s.client.Get(ctx, full)
		if err != nil {
			return false, err
		}
		if len(got.Kvs) == 0 {
			if tried { // the answer to an earlier try was lost
				revision = uint64(got.Header.Revision)
				return true, nil
			}
			return false, fmt.Errorf("%q: %w", key, store.ErrNotFound)
		}
		if e, ok := s.entry(got.Kvs[0]); ok && !who.May(e.UID) {
			return false, fmt.Errorf("%q: %w (uid %d)", key, store.ErrNotYours, e.UID)
		}
		tried = true
		var ok bool
		ok, revision, err = s.deleteAll(ctx, got.Kvs)
		return ok, err
	})
	return revision, ours(err)
}

// deleteAll deletes keys if they have not changed since they were read.
func (s *Store) deleteAll(ctx context.Context, kvs []*mvccpb.KeyValue) (ok bool, revision uint64, err error) {
	var same []clientv3.Cmp
	var ops []clientv3.Op
	var names []string
	for _, kv := range kvs {
		key := string(kv.Key)
		same = append(same, clientv3.Compare(clientv3.ModRevision(key), "=", kv.ModRevision))
		ops = append(ops, clientv3.OpDelete(key))
		names = append(names, key)
	}
	told, err := json.Marshal(names)
	if err != nil {
		return false, 0, err
	}
	r, err := s.client.Txn(ctx).If(same...).Then(append(ops, clientv3.OpPut(s.deletedKey(), string(told)))...).Commit()
	if err != nil {
		return false, 0, err
	}
	return r.Succeeded, uint64(r.Header.Revision), nil
}

// deletedKey is the key that names the keys of the last deletion.
func (s *Store) deletedKey() string { return s.prefix + "deleted" }

// deleteAtOnce bounds a transaction; etcd's own bound is 128 operations (--max-txn-ops).
const deleteAtOnce = 60

// DeletePrefix implements store.Store.
func (s *Store) DeletePrefix(ctx context.Context, who store.Caller, k store.Kind, prefix string) (n int, revision uint64, err error) {
	from, end := s.key(k, prefix), clientv3.GetPrefixRangeEnd(s.key(k, prefix))
	for more := true; more; {
		err = again(ctx, func() (bool, error) {
			r, err := s.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(deleteAtOnce))
			if err != nil {
				return false, err
			}
			more, revision = r.More, uint64(r.Header.Revision)
			var mine []*mvccpb.KeyValue
			for _, kv := range r.Kvs {
				if e, ok := s.entry(kv); ok && who.May(e.UID) {
					mine = append(mine, kv)
				}
			}
			if len(mine) > 0 {
				ok, at, err := s.deleteAll(ctx, mine)
				if err != nil || !ok {
					return false, err
				}
				n, revision = n+len(mine), at
			}
			if len(r.Kvs) > 0 {
				from = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
			}
			return true, nil
		})
		if err != nil {
			return n, revision, ours(err)
		}
	}
	return n, revision, nil
}
