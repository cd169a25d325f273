package fabric

import (
	"time"

	"gofabric/cmd/fabricd/internal/emulate/link"
	"gofabric/internal/fabricd/api"
)

// This file converts faults to and from the API.

// FaultsOf returns f in the API's units.
func FaultsOf(f link.Faults) api.Faults {
	return api.Faults{
		Loss: f.Loss, Burst: api.Burst(f.Burst), DelayMS: f.Delay.Seconds() * 1e3, JitterMS: f.Jitter.Seconds() * 1e3, RateMbit: f.Rate / 1e6,
		Queue: f.Queue, QueueBytes: f.QueueBytes, ECN: f.ECN, Dup: f.Dup, Reorder: f.Reorder, Corrupt: f.Corrupt,
	}
}

// ApplyChange returns f with the changes, checked.
func ApplyChange(f link.Faults, c *api.FaultsChange) (link.Faults, error) {
	set(&f.Loss, c.Loss)
	if c.Burst != nil {
		f.Burst = link.Burst(*c.Burst)
	}
	setTime(&f.Delay, c.DelayMS)
	setTime(&f.Jitter, c.JitterMS)
	if c.RateMbit != nil {
		f.Rate = *c.RateMbit * 1e6
	}
	set(&f.Queue, c.Queue)
	set(&f.QueueBytes, c.QueueBytes)
	set(&f.ECN, c.ECN)
	set(&f.Dup, c.Dup)
	set(&f.Reorder, c.Reorder)
	set(&f.Corrupt, c.Corrupt)
	return f, f.Check()
}

// ChangeOf returns the API's change for the named settings of f.
func ChangeOf(f link.Faults, named func(name string) bool) *api.FaultsChange {
	v := FaultsOf(f)
	c := &api.FaultsChange{}
	pick(named("loss"), &c.Loss, &v.Loss)
	pick(named("burst"), &c.Burst, &v.Burst)
	pick(named("delay"), &c.DelayMS, &v.DelayMS)
	pick(named("jitter"), &c.JitterMS, &v.JitterMS)
	pick(named("rate"), &c.RateMbit, &v.RateMbit)
	pick(named("queue"), &c.Queue, &v.Queue)
	pick(named("queue-bytes"), &c.QueueBytes, &v.QueueBytes)
	pick(named("ecn"), &c.ECN, &v.ECN)
	pick(named("dup"), &c.Dup, &v.Dup)
	pick(named("reorder"), &c.Reorder, &v.Reorder)
	pick(named("corrupt"), &c.Corrupt, &v.Corrupt)
	return c
}

func pick[T any](is bool, to **T, v *T) {
	if is {
		*to = v
	}
}

func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}

func setTime(to *time.Duration, ms *float64) {
	if ms != nil {
		*to = milliseconds(*ms)
	}
}

// milliseconds converts a client's number into a duration that Check validates. A number that is too large remains
// too large.
func milliseconds(ms float64) time.Duration {
	if !(ms >= 0 && ms < 1e9) {
		return -1
	}
	return time.Duration(ms * 1e6)
}
