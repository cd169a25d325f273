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
func (s *Store) look(ctx context.Context) {
	pause := time.NewTicker(healthPause)
	defer pause.Stop()
	for {
		limit, cancel := context.WithTimeout(ctx, healthTimeout)
		_, err := s.client.Get(limit, s.deletedKey(), clientv3.WithKeysOnly())
		cancel()
		if ctx.Err() != nil {
			return
		}
		s.becomeHealthy(failed(err))
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
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
