package gofabric

import (
	"context"
	"errors"
	"strings"

	"gofabric/core"
	"gofabric/internal/host"
)

// This file has names in the directory of the node's daemon, such as fabric://job/3.

// isName reports whether an address is a name of the directory.
func isName(addr string) bool {
	scheme, _, ok := strings.Cut(addr, "://")
	return ok && strings.EqualFold(scheme, host.DirectoryScheme)
}

// register registers an address under the name of the Config, if it has one.
func (c *config) register(ctx context.Context, info *core.Info, addr core.Addr) (host.Registered, error) {
	if c.Name == "" {
		return nil, nil
	}
	r, err := host.RegisterName(ctx, c.Name, addr)
	if err != nil {
		e := &core.OpError{Op: "fi_getname", Provider: info.Fabric.ProvName, Object: addr.String(), Peer: host.DirectoryScheme + "://" + c.Name, Err: err}
		if errors.Is(err, core.ErrNoData) {
			e.Hint = "start fabricd; without it leave Config.Name out, and pass the address to the peers in another way"
		}
		return nil, e
	}
	return r, nil
}
