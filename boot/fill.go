package boot

import (
	"context"
	"fmt"
	"os"
	"strings"

	"gofabric/core"
)

// This file exchanges the addresses of all processes of a job.

// Inserter is an endpoint of the root package, *gofabric.Endpoint. Its peers have the type P.
type Inserter[P any] interface {
	Name() core.Addr
	InsertAddr(core.Addr) (P, error)
}

// Peers publishes the address of ep to the other processes of the job, and inserts their addresses and its own. The
// i-th peer is rank i. All processes must call it.
func Peers[P any](ctx context.Context, j *Job, ep Inserter[P]) ([]P, error) {
	addrs, err := j.Addresses(ctx, ep.Name())
	if err != nil {
		return nil, err
	}
	peers := make([]P, len(addrs))
	for i, a := range addrs {
		if peers[i], err = ep.InsertAddr(a); err != nil {
			return nil, err
		}
	}
	return peers, nil
}

// Named is an endpoint as Fill uses it.
type Named interface{ Name() (core.Addr, error) }

// Fill publishes the address of ep, which must be enabled, to the other processes of the job, and inserts their
// addresses and its own into av. The i-th result is the fi_addr_t of rank i. It is i if av is an empty table and
// all addresses differ. All processes must call it.
func (j *Job) Fill(ctx context.Context, ep Named, av *core.AddressVector) ([]core.FIAddr, error) {
	mine, err := ep.Name()
	if err != nil {
		return nil, j.failed("Fill", fmt.Errorf("the endpoint has no address yet: %w", err))
	}
	addrs, err := j.Addresses(ctx, mine)
	if err != nil {
		return nil, err
	}
	fi := make([]core.FIAddr, len(addrs))
	if _, err := av.Insert(addrs, fi, 0); err != nil {
		return nil, j.failed("Fill", err)
	}
	for rank, a := range fi {
		if a == core.AddrNotAvail {
			return nil, j.failed("Fill", fmt.Errorf("the address vector does not take %s of rank %d: %w", addrs[rank], rank, core.ErrInval))
		}
	}
	return fi, nil
}

// Addresses is Exchange for addresses of endpoints. It refuses addresses that cannot work: unspecified ones, and
// loopback addresses of other hosts.
func (j *Job) Addresses(ctx context.Context, mine core.Addr) ([]core.Addr, error) {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	all, err := j.Exchange(ctx, []byte(host+" "+mine.String()))
	if err != nil {
		return nil, err
	}
	addrs := make([]core.Addr, len(all))
	for rank, b := range all {
		of, text, ok := strings.Cut(string(b), " ")
		a, err := core.ParseAddr(text)
		if !ok || err != nil {
			return nil, j.failed("Addresses", fmt.Errorf("rank %d sent no address: %.80q: %w", rank, b, core.ErrInval))
		}
		if err := reachable(a, of == host); err != nil {
			return nil, j.failed("Addresses", fmt.Errorf("rank %d on host %.64q: %w", rank, of, err))
		}
		addrs[rank] = a
	}
	return addrs, nil
}

// reachable returns an error if an address cannot be reached from this host.
func reachable(a core.Addr, sameHost bool) error {
	ip := a.IP.Addr()
	switch {
	case !ip.IsValid():
		return nil // the provider has its own form of addresses
	case ip.Unmap().IsUnspecified(), a.IP.Port() == 0:
		return fmt.Errorf("its endpoint has the address %s, which other processes cannot reach; open the endpoint at an address of the host: %w", a, core.ErrAddrNotAvail)
	case ip.Unmap().IsLoopback() && !sameHost:
		return fmt.Errorf("its endpoint has the address %s, which only its own host reaches; open the endpoint at an address that the other hosts reach: %w", a, core.ErrAddrNotAvail)
	}
	return nil
}
