package telemetry

import (
	"net/netip"
	"os"
	"strconv"
	"time"
)

// Key names something that can make progress.
type Key struct {
	Owner uint64         // the endpoint, or the domain
	Peer  netip.AddrPort // of several, which
	Index int
	What  string
}

// sight is what was seen of something.
type sight struct {
	token uint64
	since time.Time
	told  bool // as a stall
}

// watch remembers, from one observation to the next, what was seen.
type watch struct {
	was, is  map[Key]sight
	now      time.Time
	patience time.Duration // 0: nothing stalls
}

// watchMax bounds what is remembered of one domain.
const watchMax = 1 << 14

// begin starts an observation.
func (w *watch) begin(now time.Time) {
	w.now = now
	w.is = make(map[Key]sight, len(w.was))
}

// end makes the observation the last one.
func (w *watch) end() { w.was, w.is = w.is, nil }

// see notes something, and returns since when it looks as it does now.
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

// EnvWatchdog is the variable that says after how many milliseconds without progress something counts as stalled; 0 never.
const EnvWatchdog = "FI_WATCHDOG"

// watchdogDefault is the time without the variable.
const watchdogDefault = 5 * time.Second

// patience reads the variable; what is no number counts as if it were not set.
func patience() time.Duration {
	ms, err := strconv.Atoi(os.Getenv(EnvWatchdog))
	if err != nil || ms < 0 {
		return watchdogDefault
	}
	return time.Duration(ms) * time.Millisecond
}
