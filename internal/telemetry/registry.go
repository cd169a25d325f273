package telemetry

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Source is an open domain.
type Source interface {
	// Observe describes the domain's endpoints. It waits for the domain's lock without a time limit.
	Observe(o *Observation)
	// Title returns the provider and name of the domain, for reports of a stall of the whole domain.
	Title() (provider, name string)
}

// Entry is a Source in the list.
type Entry struct {
	s     Source
	w     watch
	under *Observation // observation under way
	busy  time.Time    // time since which its lock is not available
	last  []Endpoint
	told  bool // busy was reported as a stall
}

// registry is the list of a process.
type registry struct {
	mu      sync.Mutex
	entries map[*Entry]struct{}
	order   []*Entry
	gone    map[string]*Total // of closed endpoints, by provider
	stop    func()            // ends the reporter; nil while none runs

	looking sync.Mutex // one Collect at a time; locked before mu
	stalled map[string]uint64
}

var process = registry{entries: map[*Entry]struct{}{}, gone: map[string]*Total{}, stalled: map[string]uint64{}}

// reporter is the argument of SetReporter.
var reporter func() (stop func())

// SetReporter sets the function that starts the reporter, which answers the node's fabricd while the process has
// open domains. It is called with the first domain, and returns the function that ends the reporter, or nil. Call
// SetReporter in init functions: package gofabric/fabricd does, so that other programs contain no JSON encoder.
func SetReporter(start func() (stop func())) { reporter = start }

var ids atomic.Uint64

// NewID returns a number that no other endpoint or domain of the process has.
func NewID() uint64 { return ids.Add(1) }

// minAsks is the smallest number of system calls for one endpoint, for any number of endpoints.
const minAsks = 4

// lockTime is how long Collect waits for the lock of one domain.
const lockTime = 250 * time.Millisecond

// Register adds a domain to the list. With report the process answers the node's fabricd from now on, if there is
// one and the program has a reporter.
func Register(s Source, report bool) *Entry {
	e := &Entry{s: s}
	r := &process
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[e] = struct{}{}
	r.order = append(r.order, e)
	if report && r.stop == nil && reporter != nil {
		r.stop = reporter()
	}
	return e
}

// Close removes the domain from the list. With the last domain the process stops answering fabricd.
func (e *Entry) Close() {
	r := &process
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.entries[e]; !ok {
		return
	}
	delete(r.entries, e)
	r.order = slices.DeleteFunc(r.order, func(o *Entry) bool { return o == e })
	if len(r.entries) == 0 && r.stop != nil {
		r.stop()
		r.stop = nil
	}
}

// Gone adds the figures of an endpoint that is closed to the totals.
func Gone(provider string, c Counts, h map[string]Histogram) {
	r := &process
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.gone[provider]
	if t == nil {
		if len(r.gone) >= MaxTotals {
			return
		}
		t = &Total{Provider: provider, Counters: Counts{}}
		r.gone[provider] = t
	}
	t.add(c, h, true)
}

// add adds an endpoint's figures.
func (t *Total) add(c Counts, h map[string]Histogram, countersOnly bool) {
	t.Counters.Add(c, countersOnly)
	for k, v := range h {
		if t.Histograms == nil {
			t.Histograms = map[string]Histogram{}
		}
		sum := t.Histograms[k]
		sum.Add(v)
		t.Histograms[k] = sum
	}
}

// started is the time when the process loaded this package, shortly after its start.
var started = time.Now()

// Name returns the process' name: FI_PROCESS_NAME, or the name of its program.
func Name() string {
	if n := os.Getenv(EnvName); n != "" {
		return Clip(n)
	}
	if len(os.Args) == 0 || os.Args[0] == "" {
		return "pid " + strconv.Itoa(os.Getpid())
	}
	return Clip(filepath.Base(os.Args[0]))
}

// command returns the command line.
func command() string { return Clip(strings.Join(os.Args, " ")) }

// Self describes the process without its figures.
func Self() *Process {
	return &Process{Version: Version, PID: os.Getpid(), UID: os.Getuid(), Name: Name(), Command: command(), Since: started}
}

// EnvName is the variable with the process' name.
const EnvName = "FI_PROCESS_NAME"

// Collect observes all open domains.
func Collect() *Process {
	r := &process
	r.looking.Lock()
	defer r.looking.Unlock()
	p := Self()
	p.Totals, p.Endpoints, p.Stalls = []Total{}, []Endpoint{}, []Stall{}
	totals := map[string]*Total{}
	r.mu.Lock()
	list := slices.Clone(r.order)
	r.mu.Unlock()
	room := MaxAllPeers
	for _, e := range list {
		stalls := e.look(&room, max(MaxAsks/len(list), minAsks), r.stalled)
		for i := range e.last {
			ep := &e.last[i]
			totalOf(totals, ep.Provider).add(ep.Counters, ep.Histograms, false)
		}
		p.Stalls = append(p.Stalls, stalls[:min(len(stalls), MaxStalls-len(p.Stalls))]...)
		keep := min(len(e.last), MaxEndpoints-len(p.Endpoints))
		p.Endpoints = append(p.Endpoints, e.last[:keep]...)
		p.More += len(e.last) - keep
	}
	r.mu.Lock() // after the observations: an endpoint that was closed meanwhile may count twice once, but is never missing
	for name, t := range r.gone {
		totalOf(totals, name).add(t.Counters, t.Histograms, true)
	}
	r.mu.Unlock()
	for _, t := range totals {
		p.Totals = append(p.Totals, *t)
	}
	slices.SortFunc(p.Totals, func(a, b Total) int { return strings.Compare(a.Provider, b.Provider) })
	p.Stalled = maps.Clone(r.stalled)
	name(p)
	return p
}

func totalOf(totals map[string]*Total, provider string) *Total {
	t := totals[provider]
	if t == nil {
		t = &Total{Provider: provider, Counters: Counts{}}
		totals[provider] = t
	}
	return t
}

// look observes the domain. The observation waits for the domain's lock in a goroutine: TryLock would never succeed
// while a thread makes passes all the time. If the observation is late, the last results remain, the next look
// collects it, and the delay becomes a stall.
func (e *Entry) look(room *int, asks int, stalled map[string]uint64) []Stall {
	now := time.Now()
	if e.under == nil {
		e.w.patience = patience()
		e.w.begin(now)
		e.under = &Observation{w: &e.w, seen: map[any]struct{}{}, stalled: map[string]uint64{}, room: *room, asks: asks, done: make(chan struct{})}
		go func(o *Observation) {
			defer close(o.done)
			e.s.Observe(o)
		}(e.under)
	}
	o := e.under
	limit := time.NewTimer(lockTime)
	defer limit.Stop()
	select {
	case <-o.done:
		e.w.end()
		e.under, e.last, e.busy, e.told = nil, o.Endpoints, time.Time{}, false
		*room -= min(*room, o.took)
		for k, n := range o.stalled {
			stalled[k] += n
		}
		return o.Stalls
	case <-limit.C:
	}
	if e.busy.IsZero() {
		e.busy = now
	}
	if p := patience(); p == 0 || time.Since(e.busy) < p {
		return nil
	}
	if !e.told {
		e.told = true
		stalled["lock"]++
	}
	provider, name := e.s.Title()
	return []Stall{{What: "lock", Provider: provider, Interface: name, State: "a call holds the domain's lock", Since: e.busy}}
}
