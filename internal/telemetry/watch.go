package telemetry

import (
	"net/netip"
	"os"
	"strconv"
	"time"
)

// Key identifies an object that can make progress.
type Key struct {
	Owner uint64         // the endpoint, or the domain
	Peer  netip.AddrPort // of several, which
	Index int
	What  string
}

// sight is the observed state of an object.
type sight struct {
	token uint64
	since time.Time
	told  bool // it was reported as a stall
}

// watch has the observed states from one observation to the next.
type watch struct {
	was, is  map[Key]sight
	now      time.Time
	patience time.Duration // 0: no stalls
}

// watchMax is the largest number of states of one domain.
const watchMax = 1 << 14

// begin starts an observation.
func (w *watch) begin(now time.Time) {
	w.now = now
	w.is = make(map[Key]sight, len(w.was))
}

// end makes the present observation the previous one.
func (w *watch) end() { w.was, w.is = w.is, nil }

// see records a state, and returns it with the time since when it is the same.
func (w *watch) see(k Key, token uint64) (s sight) {
	s, ok := w.was[k]
	if !ok || s.token != token {
		s = sight{token: token, since: w.now}
	}
	if len(w.is) < watchMax {
		w.is[k] = s
	}
	return s
}

// EnvWatchdog is the variable with the time in milliseconds after which an object without progress is stalled; 0 is
// never.
const EnvWatchdog = "FI_WATCHDOG"

// watchdogDefault is the time without the variable.
const watchdogDefault = 5 * time.Second

// patience reads the variable. A value that is not a number counts as not set.
func patience() time.Duration {
	ms, err := strconv.Atoi(os.Getenv(EnvWatchdog))
	if err != nil || ms < 0 {
		return watchdogDefault
	}
	return time.Duration(ms) * time.Millisecond
}
