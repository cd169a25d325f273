package peers_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gofabric/core"
)

var (
	seeds = flag.Int("seeds", 30, "simulated runs")
	seed  = flag.Uint64("seed", 0, "run this one only")
)

// simulation is a run with random operations, deliveries and faults.
type simulation struct {
	*world
	r      *rand.Rand
	faults bool // connections break, and endpoints restart
	apps   []*simApp
	state  map[string]*message
	last   map[string]int // number of the last message on a route, for the order
}

// simApp is an endpoint with the messages that it has posted.
type simApp struct {
	*app
	life int
	fi   []core.FIAddr // by endpoint
	ctx  core.OpContext
	sent map[core.OpContext]*message
}

type message struct {
	text               string
	ack                bool
	complete, failed   bool
	delivered, aborted bool // aborted: its endpoint has ended
	loose              bool // its connection was aborted: it may arrive after those of the next one
}

// TestSimulation: endpoints that post to each other at random, over connections that open at once, are left when
// idle, break and are aborted. Each operation ends once. What a peer has acknowledged it has, no message arrives
// twice, and messages of one connection arrive in order. Without faults all messages arrive.
func TestSimulation(t *testing.T) {
	first, n := uint64(1), *seeds
	if *seed != 0 {
		first, n = *seed, 1
	}
	for i := range n {
		s := first + uint64(i)
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inWorld(t, func(w *world) { simulate(w, s) })
			})
		})
	}
}

func simulate(w *world, seed uint64) {
	s := &simulation{world: w, r: rand.New(rand.NewPCG(seed, 0)), state: map[string]*message{}, last: map[string]int{}}
	s.faults = seed%2 == 0
	w.n.pick = s.r.IntN
	for i := range 2 + s.r.IntN(3) {
		set := settings{aux: s.r.IntN(3), native: s.r.IntN(4) == 0, patience: 2 * time.Second}
		if s.r.IntN(2) == 0 {
			set.idle = 50 * time.Millisecond
		}
		if s.r.IntN(3) == 0 {
			set.maxConns = 1 + s.r.IntN(2)
		}
		s.apps = append(s.apps, &simApp{app: w.open(netip.AddrPortFrom(low.Addr(), uint16(10+i)), set)})
	}
	for _, a := range s.apps {
		s.begin(a)
	}
	for range 400 {
		s.act()
	}
	// The rest arrives. Afterwards each endpoint can send to each other. The first of these messages may find that
	// the peer was restarted.
	s.pass(5 * time.Second)
	s.read()
	s.round()
	faults := s.faults
	s.faults = false
	s.round()
	s.check(faults)
}

// round makes each endpoint send to each other.
func (s *simulation) round() {
	for _, a := range s.apps {
		for to := range s.apps {
			s.post(a, to, true)
		}
	}
	s.pass(5 * time.Second)
	s.read()
}

// begin gives an endpoint that has just opened the addresses of all.
func (s *simulation) begin(a *simApp) {
	a.fi, a.sent = nil, map[core.OpContext]*message{}
	a.life++
	for _, b := range s.apps {
		a.fi = append(a.fi, a.insert(b.app))
	}
}

func (s *simulation) act() {
	a := s.apps[s.r.IntN(len(s.apps))]
	switch x := s.r.IntN(100); {
	case x < 40:
		s.post(a, s.r.IntN(len(s.apps)), s.r.IntN(2) == 0)
	case x < 80:
		s.locked(func() {
			for range s.r.IntN(10) {
				s.n.step()
			}
		})
	case x < 88:
		s.pass(time.Duration(s.r.IntN(100)) * time.Millisecond)
	case x < 94:
		s.locked(func() {
			if c, err := a.Route(a.fi[s.r.IntN(len(s.apps))]); err == nil {
				a.Spread(c)
			}
		})
	case !s.faults:
	case x < 96:
		if list := a.links(); len(list) > 0 {
			s.locked(list[s.r.IntN(len(list))].reset)
		}
	case x < 98:
		if to := s.r.IntN(len(s.apps)); a.Disconnect(a.fi[to]) == nil {
			for _, m := range a.sent {
				m.loose = true
			}
		}
	default:
		s.read()
		for _, m := range a.sent {
			m.aborted = true
		}
		a.app = a.restart()
		s.begin(a)
	}
	s.read()
}

// post posts a message whose text is unique.
func (s *simulation) post(a *simApp, to int, ack bool) {
	a.ctx++
	from := strings.TrimPrefix(a.at.String(), "10.0.0.1:")
	m := &message{text: fmt.Sprintf("%s/%d>%d #%d", from, a.life, to, a.ctx), ack: ack}
	flags := core.OpFlags(0)
	if ack {
		flags = core.OpDeliveryComplete
	}
	err := a.SendMsg(&core.MsgArgs{IOV: [][]byte{[]byte(m.text)}, Addr: a.fi[to], Ctx: a.ctx}, flags)
	if err == core.ErrAgain {
		return
	}
	must(s.t, err)
	a.sent[a.ctx], s.state[m.text] = m, m
}

// read reads the completions of all endpoints and checks them.
func (s *simulation) read() {
	for _, a := range s.apps {
		a.read()
		for _, x := range a.said {
			s.completed(a, x)
		}
		a.said = nil
	}
}

func (s *simulation) completed(a *simApp, x string) {
	var ctx core.OpContext
	if n, _ := fmt.Sscanf(x, "sent %d", &ctx); n == 1 {
		s.ended(a, ctx, false, x)
		return
	}
	if n, _ := fmt.Sscanf(x, "failed %d", &ctx); n == 1 {
		s.ended(a, ctx, true, x)
		return
	}
	text, _, _ := strings.Cut(x, " from ")
	m := s.state[text]
	if m == nil || m.delivered {
		s.t.Fatalf("%v got %q, which was not sent or has come before", a.at, x)
	}
	m.delivered = true
	route, number, _ := strings.Cut(text, " #")
	var n int
	fmt.Sscan(number, &n)
	if n <= s.last[route] && !m.loose {
		s.t.Errorf("%v got %q after number %d", a.at, text, s.last[route])
	}
	s.last[route] = max(n, s.last[route])
}

func (s *simulation) ended(a *simApp, ctx core.OpContext, failed bool, x string) {
	m := a.sent[ctx]
	if m == nil || m.complete || m.failed {
		s.t.Fatalf("%v: %q, which was not posted or has ended before", a.at, x)
	}
	m.complete, m.failed = !failed, failed
	if !failed && m.ack && !m.delivered {
		s.late(m)
	}
	if failed && !s.faults {
		s.t.Errorf("%v: %q, and there was no fault", a.at, x)
	}
}

// late checks that a message which was acknowledged is at its receiver, whose completions may not have been read.
func (s *simulation) late(m *message) {
	for _, b := range s.apps {
		b.read()
		for _, x := range b.said {
			if strings.HasPrefix(x, m.text+" from ") {
				return
			}
		}
	}
	s.t.Errorf("%q was acknowledged, and has not arrived", m.text)
}

// check checks the end of the run.
func (s *simulation) check(faults bool) {
	for _, m := range s.state {
		switch {
		case m.aborted:
		case !m.complete && !m.failed:
			s.t.Errorf("%q has not ended", m.text)
		case !faults && !m.delivered:
			s.t.Errorf("%q has not arrived", m.text)
		case m.ack && m.complete && !m.delivered:
			s.t.Errorf("%q was acknowledged, and has not arrived", m.text)
		}
	}
}
