package daemon

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
)

// listeners has the listeners of the daemon, each with its server: the Unix socket, --listen, and the page's port,
// which opens and closes on demand.
type listeners struct {
	failed chan error // the first server that failed

	mu       sync.Mutex
	serving  bool
	stopping bool
	all      map[*http.Server]*openListener
}

// openListener is a listener of the daemon.
type openListener struct {
	listener net.Listener
	ended    chan struct{} // nil: not served yet
}

func newListeners() *listeners {
	return &listeners{failed: make(chan error, 1), all: map[*http.Server]*openListener{}}
}

// open adds a listener. Clients that connect before serve wait.
func (d *listeners) open(s *http.Server, l net.Listener) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopping {
		l.Close()
		return errors.New("fabricd is ending")
	}
	d.all[s] = &openListener{listener: l}
	if d.serving {
		d.start(s)
	}
	return nil
}

// start starts a server. mu is held.
func (d *listeners) start(s *http.Server) {
	o := d.all[s]
	o.ended = make(chan struct{})
	go func() {
		defer close(o.ended)
		if err := s.Serve(o.listener); !errors.Is(err, http.ErrServerClosed) {
			select {
			case d.failed <- err:
			default: // another one failed first
			}
		}
	}()
}

// serve answers requests until ctx ends or a server fails.
func (d *listeners) serve(ctx context.Context) error {
	d.mu.Lock()
	d.serving = true
	for s := range d.all {
		d.start(s)
	}
	d.mu.Unlock()
	defer d.close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.failed:
		return err
	}
}

// shut closes one listener. Its requests have shutdownTimeout to end.
func (d *listeners) shut(s *http.Server) {
	limit, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	d.shutWithin(limit, s)
}

func (d *listeners) shutWithin(limit context.Context, s *http.Server) {
	d.mu.Lock()
	o := d.all[s]
	delete(d.all, s)
	d.mu.Unlock()
	if o == nil {
		return
	}
	if s.Shutdown(limit) != nil {
		s.Close()
	}
	o.listener.Close() // a server that has not served does not close it
	if o.ended != nil {
		<-o.ended
	}
}

// close closes all listeners for good.
func (d *listeners) close() {
	limit, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	d.mu.Lock()
	d.stopping = true
	left := slices.Collect(maps.Keys(d.all))
	d.mu.Unlock()
	for _, s := range left {
		d.shutWithin(limit, s)
	}
}
