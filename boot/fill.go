package boot

import (
	"context"
	"fmt"
	"os"
	"strings"

	"gofabric/core"
)

// Addresses of all processes of a job.

// Inserter is an endpoint of the easy door, *gofabric.Endpoint, whose peers are of type P.
type Inserter[P any] interface {
	Name() core.Addr
	InsertAddr(core.Addr) (P, error)
}

// Peers tells the others of the job the address of ep, and inserts theirs, its own too: the i-th peer is rank i. All processes call it.
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

// Named is an endpoint, as far as Fill needs it.
type Named interface{ Name() (core.Addr, error) }

// Fill tells the others of the job the address of ep, which is enabled, and inserts theirs into av, its own too. The i-th result is what fi_addr_t rank i has:
// i, if av is an empty table and all addresses differ. All processes call it.
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

// Addresses is Exchange for addresses of endpoints. It refuses what cannot work: addresses that say nothing, and loopback addresses of other hosts.
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
			return nil, j.failed("Addresses", fmt.Errorf("rank %d on %.64q: %w", rank, of, err))
		}
		addrs[rank] = a
	}
	return addrs, nil
}

// reachable says why an address cannot be reached from here.
func reachable(a core.Addr, sameHost bool) error {
	ip := a.IP.Addr()
	switch {
	case !ip.IsValid():
		return nil // of a provider with names of its own
	case ip.Unmap().IsUnspecified(), a.IP.Port() == 0:
		return fmt.Errorf("its endpoint has the address %s, at which nobody can be reached; open it at an address of the host: %w", a, core.ErrAddrNotAvail)
	case ip.Unmap().IsLoopback() && !sameHost:
		return fmt.Errorf("its endpoint has the address %s, which is for its own host; open it at an address that others reach: %w", a, core.ErrAddrNotAvail)
	}
	return nil
}
