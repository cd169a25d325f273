package cluster

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	healthPause   = 2 * time.Second // interval of health checks
	healthTimeout = 2 * time.Second // for an answer of the cluster
)

// look regularly sends a request that needs a majority of the cluster, because a watch does not report a lost
// connection: etcd's client reconnects silently. It does not report a replaced history either.
func (s *Store) look(ctx context.Context, past history) {
	pause := time.NewTicker(healthPause)
	defer pause.Stop()
	var anew chan struct{} // not nil: closed when another history was read
	for {
		if anew == nil {
			past.revision = max(past.revision, int64(s.feed.Revision())) // before the request, so that the answer cannot be older
		}
		limit, cancel := context.WithTimeout(ctx, healthTimeout)
		r, err := s.client.Get(limit, s.deletedKey(), clientv3.WithKeysOnly())
		cancel()
		if ctx.Err() != nil {
			return
		}
		s.becomeHealthy(failed(err))
		if err == nil {
			now := historyOf(r.Header)
			if anew == nil && !now.goesOn(past) {
				s.log.Error("etcd has another history than before: it lost its data, or was restored from a backup; watchers must list again", "revision", now.revision,
					"before", past.revision)
				anew = make(chan struct{})
				s.lost <- anew // has room
			}
			past = now
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
		select {
		case <-anew:
			anew = nil
		default:
		}
	}
}

// becomeHealthy records the health of the cluster: err, or nil.
func (s *Store) becomeHealthy(err error) {
	was := s.trouble.Load()
	switch {
	case err == nil && was != nil:
		s.log.Info("etcd answers again")
		s.trouble.Store(nil)
	case err != nil && was == nil:
		s.log.Error("etcd does not answer", "error", err)
		s.trouble.Store(&err)
	}
}

// Trouble implements store.Store.
func (s *Store) Trouble() error {
	if err := s.trouble.Load(); err != nil {
		return *err
	}
	return nil
}
