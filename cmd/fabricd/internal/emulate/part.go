package emulate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/emulate/fabric"
	"gofabric/cmd/fabricd/internal/emulate/topology"
)

// part is the emulated fabric in the daemon.
type part struct {
	top    *topology.Topology
	own    bool // nodes belong to a user namespace of this process
	site   *daemon.Site
	fabric *fabric.Fabric
	keeper *keeper
	uid    int // the daemon's user

	mu       sync.Mutex
	programs map[string]int // in each node
	ended    <-chan struct{}
	closed   bool
	running  sync.WaitGroup
}

// New returns the part that emulates a topology. own says that the process is in a user namespace of its own, which
// programs enter, too.
func New(top *topology.Topology, own bool) daemon.Part {
	return &part{top: top, own: own, programs: map[string]int{}}
}

func (p *part) Name() string { return "emulation" }

func (p *part) Start(ctx context.Context, s *daemon.Site) error {
	f, err := fabric.New(p.top, s.Log)
	if err != nil {
		return explain(err)
	}
	p.site, p.fabric, p.ended, p.uid = s, f, ctx.Done(), syscall.Getuid()
	if err := s.Metrics.Register(&collector{f}); err != nil {
		return errors.Join(err, f.Close())
	}
	if p.keeper, err = newKeeper(f, s.Log); err != nil {
		return errors.Join(err, f.Close())
	}
	p.routes(s.Mux)
	s.Log.Info("emulating", "fabric", p.top.Name, "nodes", len(p.top.Nodes), "switches", len(p.top.Switches), "links", len(p.top.Links), "seed", p.top.Seed)
	return nil
}

func (p *part) Reload(*daemon.Config) error { return nil }

// Close ends the fabric. The connections of callers, which end with the daemon's context, have told the programs in
// its nodes to end.
func (p *part) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.running.Wait()
	return errors.Join(p.fabric.Close(), p.keeper.close())
}

// explain adds to the error of a fabric what to do about it.
func explain(err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENODEV):
		return fmt.Errorf("%w (is there no /dev/net/tun? modprobe tun; in a container: --device /dev/net/tun)", err)
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w (run as root; or let all users open it: chmod 0666 /dev/net/tun, and allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 on Debian, "+
			"kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu; in a container: --cap-add NET_ADMIN,SYS_ADMIN --device /dev/net/tun)", err)
	}
	return err
}
