// What a Poller watches for and reports.

package netx

import "strings"

// Events is a set of conditions of a descriptor.
type Events uint32

const (
	// In: a receive, or an accept, would not fail with syscall.EAGAIN; the end of the stream counts too.
	In Events = 1 << iota
	// Out: a send would not fail with syscall.EAGAIN, or a connect is decided.
	Out
	// Err: an error is pending (SocketError). Always watched for.
	Err
	// Hup: both directions are shut. Always watched for.
	Hup
	// Edge, on registration: report a condition when it begins or something new comes, and not all the time that it lasts. A hint: where the system
	// has no such thing (EdgeTriggered is false) reports repeat.
	Edge
	// OneShot, on registration: after one report the descriptor is not watched until Mod.
	OneShot
)

var eventNames = [...]string{"in", "out", "err", "hup", "edge", "oneshot"}

// String lists the conditions, as in "in|hup".
func (e Events) String() string { return bitNames(uint32(e), eventNames[:]) }

// Event is one report of a Poller: the token that the descriptor was registered with, and what it is ready for. Reports may be spurious: the call
// that they suggest can still fail with syscall.EAGAIN.
type Event struct {
	Token  uint64
	Events Events
}

// bitNames names the bits of a set, lowest first; bits beyond the table are left out.
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
