package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"gofabric/cmd/fabricd/internal/directory/feed"
	"gofabric/cmd/fabricd/internal/directory/store"
)

// Options of a store.
type Options struct {
	Endpoints      []string
	Prefix         string // of all keys
	TLS            *tls.Config
	User, Password string
	Limits         store.Limits
	Log            *slog.Logger
}

// Times.
const (
	dialTimeout   = 5 * time.Second
	keepAlive     = 10 * time.Second // idle time before a query to a member
	keepAliveWait = 5 * time.Second  // for its answer
	openTimeout   = 15 * time.Second
	retryPause    = 50 * time.Millisecond
)

// Store is a store.Store of an etcd cluster.
type Store struct {
	client  *clientv3.Client
	prefix  string
	log     *slog.Logger
	feed    *feed.Feed
	mirror  mirror
	lost    chan chan struct{}    // the channel in it is closed when another history was read
	trouble atomic.Pointer[error] // reason why the cluster does not answer
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// Open reads the cluster's directory.
func Open(ctx context.Context, opt Options) (*Store, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            opt.Endpoints,
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    keepAlive,
		DialKeepAliveTimeout: keepAliveWait,
		TLS:                  opt.TLS,
		Username:             opt.User,
		Password:             opt.Password,
		Logger:               zap.NewNop(), // calls return errors
	})
	if err != nil {
		return nil, fmt.Errorf("etcd at %v: %w", opt.Endpoints, err)
	}
	prefix := opt.Prefix
	if !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	s := &Store{client: client, prefix: prefix, log: opt.Log, mirror: mirror{limits: opt.Limits}, lost: make(chan chan struct{}, 1)}
	limit, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	past, err := s.load(limit)
	if err != nil {
		client.Close()
		return nil, fmt.Errorf("etcd at %v: %w", opt.Endpoints, err)
	}
	s.feed = feed.New(uint64(past.revision))
	var run context.Context
	run, s.stop = context.WithCancel(context.Background())
	s.work.Go(func() { s.follow(run, past.revision) })
	s.work.Go(func() { s.look(run, past) })
	return s, nil
}

// failed translates an error of etcd's client.
func failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return fmt.Errorf("lease: %w", store.ErrNotFound)
	case errors.Is(err, rpctypes.ErrNoSpace), errors.Is(err, rpctypes.ErrRequestTooLarge):
		return fmt.Errorf("%w: etcd: %w", store.ErrQuota, err)
	default:
		return fmt.Errorf("%w: etcd: %w", store.ErrDown, err)
	}
}

// passing reports whether an error may be temporary: a member died, or there is no leader at present.
func passing(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	code := status.Code(err)
	if e, ok := err.(rpctypes.EtcdError); ok {
		code = e.Code()
	}
	return code == codes.Unavailable
}

// again calls try until it succeeds, fails for good, or ctx ends. Each try reads the present state, so that a
// repetition after a lost answer is harmless.
func again(ctx context.Context, try func() (done bool, err error)) error {
	for {
		done, err := try()
		if done && err == nil {
			return nil
		}
		if err != nil && !passing(err) {
			return err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return failed(errors.Join(err, ctx.Err()))
		}
	}
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, who store.Caller, k store.Kind, key string) (e store.Entry, err error) {
	err = again(ctx, func() (bool, error) {
		r, err := s.client.Get(ctx, s.key(k, key))
		if err != nil {
			return false, err
		}
		ok := false
		if len(r.Kvs) > 0 {
			e, ok = s.entry(r.Kvs[0])
		}
		switch {
		case !ok:
			return false, fmt.Errorf("%q: %w", key, store.ErrNotFound)
		case e.Private && !who.May(e.UID):
			return false, fmt.Errorf("%q is private: %w", key, store.ErrNotYours)
		}
		return true, nil
	})
	if err != nil {
		return store.Entry{}, ours(err)
	}
	return e, nil
}

// ours returns the directory's errors unchanged, and translates etcd's.
func ours(err error) error {
	for _, known := range []error{nil, store.ErrNotFound, store.ErrNotYours, store.ErrQuota, store.ErrInvalid, store.ErrDown} {
		if errors.Is(err, known) {
			return err
		}
	}
	return failed(err)
}

// pageSize returns the number of entries in one read.
func pageSize(k store.Kind) int64 {
	if k == store.Values {
		return store.ListBytes / store.MaxValue
	}
	return 1000
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, who store.Caller, k store.Kind, prefix, after string, limit int) (list store.List, err error) {
	end := clientv3.GetPrefixRangeEnd(s.key(k, prefix))
	from := s.key(k, prefix)
	if after >= prefix && after != "" {
		from = s.key(k, after) + "\x00"
	}
	for {
		var r *clientv3.GetResponse
		err := again(ctx, func() (bool, error) {
			r, err = s.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(min(int64(limit), pageSize(k))))
			return err == nil, err
		})
		if err != nil {
			return store.List{}, ours(err)
		}
		if list.Revision == 0 {
			list.Revision = uint64(r.Header.Revision)
		}
		for _, kv := range r.Kvs {
			if e, ok := s.entry(kv); ok && (!e.Private || who.May(e.UID)) {
				list.Entries = append(list.Entries, e)
			}
			from = string(kv.Key) + "\x00"
		}
		list.More = r.More
		if !r.More || len(list.Entries) > 0 {
			return list, nil
		}
	}
}

// Watch implements store.Store.
func (s *Store) Watch(ctx context.Context, who store.Caller, k store.Kind, prefix string, from uint64) (store.Watcher, error) {
	if from > s.feed.Revision() { // the cluster and its other nodes may be ahead of this one
		now, err := s.revision(ctx)
		if err != nil {
			return nil, ours(err)
		}
		if from > now {
			return nil, store.NotReached(from, now)
		}
	}
	w, err := s.feed.Watch(who, k, prefix, from)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// revision returns the cluster's revision.
func (s *Store) revision(ctx context.Context) (now uint64, err error) {
	err = again(ctx, func() (bool, error) {
		r, err := s.client.Get(ctx, s.deletedKey(), clientv3.WithKeysOnly())
		if err != nil {
			return false, err
		}
		now = uint64(r.Header.Revision)
		return true, nil
	})
	return now, err
}

// Usage implements store.Store.
func (s *Store) Usage() store.Usage { return s.mirror.usage() }

// SetLimits implements store.Store.
func (s *Store) SetLimits(l store.Limits) { s.mirror.setLimits(l) }

// Close implements store.Store. Leases remain in etcd.
func (s *Store) Close() error {
	s.stop()
	s.work.Wait()
	s.feed.Close(fmt.Errorf("%w: fabricd is ending", store.ErrDown))
	return s.client.Close()
}
