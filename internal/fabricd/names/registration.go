package names

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"gofabric/core"
	"gofabric/internal/fabricd/api"
)

// These are the times of a Registration.
const (
	leaseTime  = 15 * time.Second // a name remains for so long after its program
	renewTime  = leaseTime / 3
	firstRetry = 100 * time.Millisecond
	lastRetry  = 2 * time.Second
	askTime    = 5 * time.Second // longest time until an answer
	closeTime  = time.Second
)

// Registration is a name that stands for an address while its program runs, or until Close. A goroutine renews it.
// The goroutine also registers it again if it was lost: after a restart of a daemon that keeps its state in memory,
// or when the daemon was away for longer than the lease.
type Registration struct {
	name, address string
	renew         time.Duration
	stop          context.CancelFunc
	done          chan struct{}
}

// Register registers a name for an address at this node's daemon. It replaces a registration of the same user. The
// error is core.ErrNoData if there is no daemon.
func Register(ctx context.Context, name string, address core.Addr) (*Registration, error) {
	return register(ctx, name, address, leaseTime, renewTime)
}

func register(ctx context.Context, name string, address core.Addr, lease, renew time.Duration) (*Registration, error) {
	if ip := address.IP.Addr(); !ip.IsValid() || ip.Unmap().IsUnspecified() || address.IP.Port() == 0 {
		return nil, fmt.Errorf("%q is not an address at which other processes reach the endpoint: %w", address, core.ErrAddrNotAvail)
	}
	r := &Registration{name: name, address: address.String(), renew: renew, done: make(chan struct{})}
	id, err := r.put(ctx, lease)
	if err != nil {
		if _, answered := errors.AsType[*api.Error](err); !answered && ctx.Err() == nil {
			err = noData(err)
		}
		return nil, err
	}
	keep, stop := context.WithCancel(context.Background())
	r.stop = stop
	go r.keep(keep, id, lease)
	return r, nil
}

// put registers the name and returns its lease.
func (r *Registration) put(ctx context.Context, lease time.Duration) (id string, err error) {
	var got api.Registered
	err = ask(ctx, http.MethodPut, api.NamePath(r.name), api.Registration{Address: r.address, Lease: lease.String()}, &got)
	return got.Lease, err
}

// ask sends a request to the daemon. It looks for the daemon each time, because it may have changed.
func ask(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	client, err := api.Dial("")
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Do(ctx, method, path, in, out)
}

// keep renews the lease until ctx ends.
func (r *Registration) keep(ctx context.Context, id string, lease time.Duration) {
	defer close(r.done)
	next, retry := r.renew, firstRetry
	for {
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return
		}
		err := ask(ctx, http.MethodPost, api.LeasePath(id), nil, nil)
		if e, answered := errors.AsType[*api.Error](err); answered && e.Status == http.StatusNotFound {
			var fresh string
			if fresh, err = r.put(ctx, lease); err == nil {
				id = fresh
			}
		}
		if err == nil {
			next, retry = r.renew, firstRetry
		} else {
			next, retry = retry, min(2*retry, lastRetry, r.renew)
		}
	}
}

// Close removes the name, unless another program has registered it since. If the daemon does not answer, the name
// ends with its lease.
func (r *Registration) Close() {
	r.stop()
	<-r.done
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	var now api.Name
	if err := ask(ctx, http.MethodGet, api.NamePath(r.name), nil, &now); err == nil && now.Address == r.address {
		ask(ctx, http.MethodDelete, api.NamePath(r.name), nil, nil) // the lease ends without renewal
	}
}
