package gofabric

import (
	"context"
	"strings"

	"gofabric/core"
	"gofabric/internal/fabricd/names"
)

// Names in the directory of the node's daemon, fabric://job/3.

// isName says whether an address is a name of the directory.
func isName(addr string) bool {
	scheme, _, ok := strings.Cut(addr, "://")
	return ok && strings.EqualFold(scheme, names.Scheme)
}

// register registers an address under the name of the Config, if it has one.
func (c *config) register(ctx context.Context, info *core.Info, addr core.Addr) (*names.Registration, error) {
	if c.Name == "" {
		return nil, nil
	}
	r, err := names.Register(ctx, c.Name, addr)
	if err != nil {
		return nil, &core.OpError{Op: "fi_getname", Provider: info.Fabric.ProvName, Object: addr.String(), Peer: names.Scheme + "://" + c.Name, Err: err,
			Hint: "without fabricd leave Config.Name out, and tell peers the address in another way"}
	}
	return r, nil
}
