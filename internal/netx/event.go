// The conditions that a Poller watches and reports.

package netx

import "strings"

// Events is a set of conditions of a descriptor.
type Events uint32

const (
	// In: a receive or an accept would not fail with syscall.EAGAIN. The end of the stream counts, too.
	In Events = 1 << iota
	// Out: a send would not fail with syscall.EAGAIN, or a connect has succeeded or failed.
	Out
	// Err: an error is pending (SocketError). It is always watched.
	Err
	// Hup: both directions are shut down. It is always watched.
	Hup
	// Edge, on registration: report a condition when it begins or new data comes, instead of as long as it lasts.
	// It is a hint: reports repeat on systems where EdgeTriggered is false.
	Edge
	// OneShot, on registration: after one report the descriptor is not watched until Mod is called.
	OneShot
)

var eventNames = [...]string{"in", "out", "err", "hup", "edge", "oneshot"}

// String lists the conditions, as in "in|hup".
func (e Events) String() string { return bitNames(uint32(e), eventNames[:]) }

// Event is one report of a Poller: the token that the descriptor was registered with, and its conditions. A report
// may be spurious: the call that it suggests can still fail with syscall.EAGAIN.
type Event struct {
	Token  uint64
	Events Events
}

// bitNames returns the names of the bits of a set, lowest first. It omits bits beyond the table.
func bitNames(set uint32, names []string) string {
	var s []string
	for i, name := range names {
		if set&(1<<i) != 0 {
			s = append(s, name)
		}
	}
	if s == nil {
		return "none"
	}
	return strings.Join(s, "|")
}
