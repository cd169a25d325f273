//go:build linux

package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/fabricd"
	"gofabric/internal/xdp"
)

// The bounds of conversations.
const (
	maxClients = 256
	maxPerUser = 64

	acceptPause = 100 * time.Millisecond // descriptors have run out: others may give some back
)

// part is the daemon.Part.
type part struct {
	log *slog.Logger
	l   net.Listener
	wg  sync.WaitGroup

	said daemon.Seldom // of those who are refused

	mu      sync.Mutex // of what follows
	policy  policy
	clients map[*client]struct{}
	lenders map[int]*lent // by number of interface
	closed  bool

	loans, refusals prometheus.Counter
}

// lent is an interface while somebody has some of it.
type lent struct {
	*xdp.Lender
	users int
}

// New makes the part.
func New() daemon.Part { return &part{clients: map[*client]struct{}{}, lenders: map[int]*lent{}} }

// Name implements daemon.Part.
func (p *part) Name() string { return "xdp" }

// Start implements daemon.Part.
func (p *part) Start(_ context.Context, s *daemon.Site) error {
	p.log = s.Log.With("part", p.Name())
	p.policy = newPolicy(s.Config, os.Getuid())
	p.policy.warn(p.log)
	p.loans = prometheus.NewCounter(prometheus.CounterOpts{Name: "fabricd_xdp_loans_total", Help: "Interfaces lent to processes for AF_XDP."})
	p.refusals = prometheus.NewCounter(prometheus.CounterOpts{Name: "fabricd_xdp_refusals_total", Help: "Requests for AF_XDP that were refused."})
	s.Metrics.MustRegister(p.loans, p.refusals, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fabricd_xdp_clients", Help: "Processes that talk to the broker."},
		func() float64 { p.mu.Lock(); defer p.mu.Unlock(); return float64(len(p.clients)) }))
	l, err := s.Listen("unixpacket", fabricd.XDP)
	if err != nil {
		return fmt.Errorf("the socket for AF_XDP: %w", err)
	}
	p.l = l
	p.wg.Go(p.accept)
	return nil
}

// Reload implements daemon.Part: the policy is for those who ask from now on.
func (p *part) Reload(c *daemon.Config) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.policy = newPolicy(c, p.policy.owner)
	p.policy.warn(p.log)
	return nil
}

// Close implements daemon.Part.
func (p *part) Close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.clients {
		c.conn.Close()
	}
	p.mu.Unlock()
	err := p.l.Close()
	p.wg.Wait()
	return err
}

func (p *part) accept() {
	for {
		conn, err := p.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			p.log.Warn("accepting", "error", err)
			time.Sleep(acceptPause)
			continue
		}
		caller, ok := daemon.Peer(conn)
		if c := newClient(p, conn, caller); !ok || !p.admit(c) {
			conn.Close()
		} else {
			p.wg.Go(c.serve)
		}
	}
}

// admit counts a client in, if there is room.
func (p *part) admit(c *client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine := 0
	for other := range p.clients {
		if other.caller.UID == c.caller.UID {
			mine++
		}
	}
	if p.closed || len(p.clients) >= maxClients || mine >= maxPerUser && c.caller.UID != 0 {
		p.said.Log(p.log, c.caller.UID, slog.LevelWarn, "too many processes ask for AF_XDP", "uid", c.caller.UID, "pid", c.caller.PID)
		return false
	}
	p.clients[c] = struct{}{}
	return true
}

// leave counts a client out, and ends what it borrowed.
func (p *part) leave(c *client) {
	if c.loan != nil {
		if err := c.loan.Close(); err != nil {
			p.log.Warn("ending a loan", "error", err)
		}
	}
	c.conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.clients, c)
	if c.from != nil {
		p.giveBack(c.index, c.from)
	}
}

// giveBack ends one use of an interface. Locked.
func (p *part) giveBack(index int, from *lent) {
	if from.users--; from.users == 0 {
		delete(p.lenders, index)
		from.Close()
	}
}

// borrow lends queues of an interface. It may wait some seconds for one; others are served meanwhile.
func (p *part) borrow(name string, index int, mode xdp.Mode, queues int) (*lent, *xdp.Loan, error) {
	from, usual, err := p.use(name, index, mode)
	if err != nil {
		return nil, nil, err
	}
	if queues == 0 {
		queues = usual
	}
	loan, err := from.Loan(queues)
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.giveBack(index, from)
		return nil, nil, err
	}
	return from, loan, nil
}

// use begins one use of an interface, which is attached to for the first who asks, and returns how many queues those get who do not say.
func (p *part) use(name string, index int, mode xdp.Mode) (from *lent, queues int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from = p.lenders[index]; from == nil {
		l, err := xdp.Lend(name, xdp.Config{Mode: mode})
		if err != nil {
			return nil, 0, err
		}
		from = &lent{Lender: l}
		p.lenders[index] = from
	}
	from.users++
	return from, p.policy.queues, nil
}

// probe says whether borrow would do.
func (p *part) probe(name string, index int, mode xdp.Mode, queues int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if queues == 0 {
		queues = p.policy.queues
	}
	if from := p.lenders[index]; from != nil {
		if free := from.Free(); free < queues {
			return &xdp.Error{Interface: name, Reason: xdp.AllLent, Err: fmt.Errorf("%d are free", free)}
		}
		return nil
	}
	return xdp.Probe(name, xdp.Config{Mode: mode, Queues: queues})
}
