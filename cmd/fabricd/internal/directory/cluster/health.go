package cluster

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	healthPause   = 2 * time.Second // between looks at the cluster's health
	healthTimeout = 2 * time.Second // for its answer
)

// look asks the cluster again and again for something that takes a majority. A watch that is cut off says nothing: etcd's client connects again in silence.
// Nor does one of a history that is no more.
func (s *Store) look(ctx context.Context, past history) {
	pause := time.NewTicker(healthPause)
	defer pause.Stop()
	var anew chan struct{} // not nil: closed when another history has been read
	for {
		if anew == nil {
			past.revision = max(past.revision, int64(s.feed.Revision())) // before the question, so that the answer cannot be older
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

// becomeHealthy notes how the cluster is: err, or well.
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

// Trouble is store.Store's.
func (s *Store) Trouble() error {
	if err := s.trouble.Load(); err != nil {
		return *err
	}
	return nil
}
