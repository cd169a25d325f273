package names

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"gofabric/core"
	"gofabric/internal/fabricd/api"
)

// scheme precedes :// in addresses that are names of the directory.
const scheme = "fabric"

// Lookup returns the addresses that are registered under a name at this node's daemon. The error is core.ErrNoData if
// there is no daemon, or no such name.
func Lookup(ctx context.Context, name string) ([]netip.AddrPort, error) {
	a, err := find(ctx, name)
	if err != nil {
		return nil, err
	}
	return []netip.AddrPort{a.IP}, nil
}

func find(ctx context.Context, name string) (core.Addr, error) {
	client, err := api.Dial("")
	if err != nil {
		return core.Addr{}, noData(err)
	}
	defer client.Close()
	var found api.Name
	if err := client.Do(ctx, http.MethodGet, api.NamePath(name), nil, &found); err != nil {
		e, answered := errors.AsType[*api.Error](err)
		switch {
		case answered && e.Status == http.StatusNotFound:
			return core.Addr{}, fmt.Errorf("%s://%s is not registered at this node's fabricd (fabricd names lists the names): %w", scheme, name, core.ErrNoData)
		case answered && e.Status == http.StatusBadRequest:
			return core.Addr{}, fmt.Errorf("%s://%.80s: %w: %w", scheme, name, err, core.ErrInval)
		}
		return core.Addr{}, noData(err)
	}
	a, err := core.ParseAddr(found.Address)
	if err == nil && !a.IP.IsValid() {
		err = fmt.Errorf("%.80q is not an IP address: %w", found.Address, core.ErrInval)
	}
	if err != nil {
		return core.Addr{}, fmt.Errorf("what user %d has registered as %s://%s: %w", found.Owner, scheme, name, err)
	}
	return a, nil
}

// noData returns an error for a name that was not found because of err.
func noData(err error) error { return fmt.Errorf("%w: %w", err, core.ErrNoData) }
