// The reasons for which a parked goroutine resumes.

package netx

// Why is a set of reasons for which Park returned.
type Why uint8

const (
	// WhyTimer: the time of SetTimer has come.
	WhyTimer Why = 1 << iota
	// WhyPoller: the attached Poller has events. It is now disarmed.
	WhyPoller
	// WhyWake: Wake was called since the last Park that returned WhyWake.
	WhyWake
)

var whyNames = [...]string{"timer", "poller", "wake"}

// String lists the reasons, as in "timer|wake".
func (w Why) String() string { return bitNames(uint32(w), whyNames[:]) }
