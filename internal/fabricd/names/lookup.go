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

// scheme stands before :// in addresses that are names of the directory.
const scheme = "fabric"

// Lookup returns the address that is registered under a name at this node's daemon. core.ErrNoData: there is no daemon, or no such name.
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
			return core.Addr{}, fmt.Errorf("nobody has registered %s://%s at this node's fabricd (fabricd names lists what there is): %w", scheme, name, core.ErrNoData)
		case answered && e.Status == http.StatusBadRequest:
			return core.Addr{}, fmt.Errorf("%s://%.80s: %w: %w", scheme, name, err, core.ErrInval)
		}
		return core.Addr{}, noData(err)
	}
	a, err := core.ParseAddr(found.Address)
	if err == nil && !a.IP.IsValid() {
		err = fmt.Errorf("%.80q is no IP address: %w", found.Address, core.ErrInval)
	}
	if err != nil {
		return core.Addr{}, fmt.Errorf("what user %d has registered as %s://%s: %w", found.Owner, scheme, name, err)
	}
	return a, nil
}

// noData says of an error that it keeps names from being found.
func noData(err error) error { return fmt.Errorf("%w: %w", err, core.ErrNoData) }
