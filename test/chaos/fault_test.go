package chaos

import (
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
	"time"
)

// This file carries out the events of the schedule.

// happen begins an event.
func (f *fleet) happen(e event) {
	p := f.nodes[e.node]
	switch e.kind {
	case evKill:
		if p.stopped || p.mortal { // it has ended or is about to; another process will take its place
			return
		}
		f.kill(p)
		f.later(e.long, func() { f.start(e.node, p.life+1) })
	case evExit, evClose:
		if p.stopped || p.mortal || !p.ready {
			return
		}
		f.leave(e, p)
	case evShutdown:
		if p.mortal || p.over || !p.Running() {
			return
		}
		p.Tell("shutdown")
	case evStop:
		if p.stopped || p.over || p.mortal {
			return
		}
		f.stop(p, e.long)
	case evLink:
		f.cut(e.long)
	case evHalfOpen:
		f.halfOpen(e)
	case evExhaust, evMemory:
		if p.mortal || p.over || !p.Running() {
			return
		}
		p.Tell(fmt.Sprintf("%v %d", e.kind, e.long/time.Millisecond))
	case evClient:
		f.send(e)
	}
	f.totals.events[e.kind]++
}

// leave makes a node exit or close everything. Then it begins its next life, in a new process or in the same.
func (f *fleet) leave(e event, p *proc) {
	order := "exit"
	if e.kind == evClose {
		order = []string{"reopen", "quit"}[e.draw>>8%2]
	}
	p.mortal, p.ready = true, false
	p.Tell(order)
	again := func() { f.start(e.node, p.life+1) }
	if order == "reopen" {
		again = func() {
			p.over, p.life, p.mortal = false, p.life+1, false
			f.born(p.owner, p.life)
			p.Tell("open")
		}
	}
	began := f.now()
	var wait func()
	wait = func() {
		switch {
		case order != "reopen" && !p.Running() && !f.has(p), order == "reopen" && p.over:
			if order == "exit" {
				f.audit.died(p.owner, p.life, f.now())
			}
			f.later(e.long, again)
		case f.now()-began > patience:
			f.totals.fault(hung, "%s life %d does not %s", nameOf(p.owner), p.life, order)
			f.kill(p)
			f.later(e.long, func() { f.start(e.node, p.life+1) })
		default:
			f.later(20*time.Millisecond, wait)
		}
	}
	wait()
}

// has reports whether a process may still print something.
func (f *fleet) has(p *proc) bool {
	for _, q := range f.all {
		if p == q {
			return true
		}
	}
	return false
}

// stop stops a process for a while. After a long stop its peers may give it up, and it may give them up.
func (f *fleet) stop(p *proc, long time.Duration) {
	if p.Cmd.Process.Signal(syscall.SIGSTOP) != nil {
		return
	}
	p.stopped = true
	begin(f.audit.pauses, p.owner, f.now())
	bad := long > silence*2/3
	if bad {
		begin(f.audit.troubles, p.owner, f.now())
	}
	f.later(long, func() {
		_ = p.Cmd.Process.Signal(syscall.SIGCONT)
		p.stopped = false
		end(f.audit.pauses, p.owner, f.now())
		if bad {
			f.later(time.Second, func() { end(f.audit.troubles, p.owner, f.now()) })
		}
	})
}

// cut takes the link down for a while. The nodes of one host are then without peers in the other.
func (f *fleet) cut(long time.Duration) {
	bad := long > silence/3 // TCP doubles its time-out with each retransmission
	owners := []uint8{serverOwner, clientOwner, nativeOwner}
	for i := range f.nodes {
		owners = append(owners, uint8(i))
	}
	f.site.link(false)
	for _, o := range owners {
		if bad {
			begin(f.audit.troubles, o, f.now())
		}
	}
	f.later(long, func() {
		f.site.link(true)
		for _, o := range owners {
			if bad {
				f.later(silence, func() { end(f.audit.troubles, o, f.now()) })
			}
		}
	})
}

// halfOpen makes connections to a node that send nothing, half of something, or nonsense, and keeps them open for a
// while.
func (f *fleet) halfOpen(e event) {
	rng := rand.New(rand.NewPCG(e.draw, 0))
	to := f.setup.Nodes[e.node]
	if rng.IntN(4) == 0 {
		to = f.setup.Server
	}
	network := "tcp"
	if f.way.datagrams() {
		network = "udp"
	}
	hello := []byte{4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24} // begins like a connection request of tcp
	var conns []net.Conn
	_ = f.site.inside(f.hostOf(uint8(e.node)), func() error {
		for range 8 {
			c, err := net.DialTimeout(network, to, time.Second)
			if err != nil {
				continue // the node is down
			}
			b := make([]byte, rng.IntN(200))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			switch rng.IntN(4) {
			case 0:
				b = nil
			case 1:
				b = hello[:rng.IntN(len(hello)+1)]
			case 2:
				b = append(hello, b...)
			}
			_, _ = c.Write(b)
			conns = append(conns, c)
		}
		return nil
	})
	f.later(e.long, func() {
		for i, c := range conns {
			if t, ok := c.(*net.TCPConn); ok && i%2 == 0 {
				_ = t.SetLinger(0) // close with a reset
			}
			c.Close()
		}
	})
}

// send starts a client.
func (f *fleet) send(e event) {
	orders := []string{"close", "busy", "exit", "kill"}
	if f.way.msg {
		orders = append(orders, "shutdown", "half")
	}
	f.bags++
	s := f.setup
	s.Me, s.Life, s.Order, s.Seed = uint8(e.node), f.bags, orders[e.draw>>16%uint64(len(orders))], e.draw
	p := f.launch(clientVar, s, clientOwner)
	p.mortal = true
	if s.Order == "kill" {
		f.later(100*time.Millisecond+time.Duration(e.draw>>32%uint64(1500*time.Millisecond)), func() { f.kill(p) })
		return
	}
	f.watch = append(f.watch, deed{f.now() + 4*bound, func() {
		if p.Running() {
			f.totals.fault(hung, "client %d (%s) does not end", p.life, s.Order)
			f.kill(p)
		}
	}})
}
