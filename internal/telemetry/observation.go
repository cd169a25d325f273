package telemetry

import (
	"net/netip"
	"time"
)

// Observation is one observation of a domain. The domain fills it in.
type Observation struct {
	Endpoints []Endpoint
	Stalls    []Stall

	w       *watch
	seen    map[any]struct{}
	stalled map[string]uint64
	room    int // for peers
	took    int // used part of room
	asks    int
	done    chan struct{}
}

// First returns true once for each x, so that several endpoints report a shared object once.
func (o *Observation) First(x any) bool {
	if _, ok := o.seen[x]; ok {
		return false
	}
	o.seen[x] = struct{}{}
	return true
}

// Room returns the number of peers of an endpoint to describe.
func (o *Observation) Room() int { return min(o.room, MaxPeers) }

// Asks returns the number of system calls that one of n endpoints may make.
func (o *Observation) Asks(n int) int { return max(o.asks/max(n, 1), minAsks) }

// Add adds an endpoint.
func (o *Observation) Add(e Endpoint) {
	n := min(len(e.Peers), o.room)
	o.room, o.took = o.room-n, o.took+n
	o.Endpoints = append(o.Endpoints, e)
}

// Since records the state of an object, as a token, and returns the time of the first observation with that state.
func (o *Observation) Since(k Key, token uint64) time.Time { return o.w.see(k, token).since }

// Watch records an object that should make progress, in the state of token. If the state is too old, the result of
// f becomes a stall.
func (o *Observation) Watch(k Key, token uint64, f func() Stall) {
	s := o.w.see(k, token)
	if o.w.patience == 0 || o.w.now.Sub(s.since) < o.w.patience {
		return
	}
	stall := f()
	stall.Since = s.since
	if !s.told {
		s.told = true
		o.w.is[k] = s
		o.stalled[stall.What]++
	}
	if len(o.Stalls) < MaxStalls {
		o.Stalls = append(o.Stalls, stall)
	}
}

// Text returns an address as reports have it, "" if there is none.
func Text(a netip.AddrPort) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
