// Why a parked goroutine came back.

package netx

// Why is a set of reasons for which Park returned.
type Why uint8

const (
	// WhyTimer: the time of SetTimer came.
	WhyTimer Why = 1 << iota
	// WhyPoller: the attached Poller has something to report. It is disarmed now.
	WhyPoller
	// WhyWake: somebody called Wake since the last Park that said so.
	WhyWake
)

var whyNames = [...]string{"timer", "poller", "wake"}

// String lists the reasons, as in "timer|wake".
func (w Why) String() string { return bitNames(uint32(w), whyNames[:]) }
