package topology

import (
	"fmt"
	"slices"
	"strings"

	"gofabric/cmd/fabricd/internal/emulate/link"
)

// Edit is a change of faults: the named settings get new values, the others stay.
type Edit map[string]string

// setting is one of the faults in the form that users write.
type setting struct {
	name, help string
	set        func(f *link.Faults, v string) error
}

func probability(at func(f *link.Faults) *float64) func(*link.Faults, string) error {
	return func(f *link.Faults, s string) (err error) {
		*at(f), err = ParseProbability(s)
		return err
	}
}

func count(at func(f *link.Faults) *int) func(*link.Faults, string) error {
	return func(f *link.Faults, s string) (err error) {
		*at(f), err = ParseCount(s)
		return err
	}
}

// settings are all faults, in the order in which help lists them.
var settings = []setting{
	{"loss", "frames lost, 5% or 0.05", probability(func(f *link.Faults) *float64 { return &f.Loss })},
	{"burst", "losses in bursts, enter/leave[/loss]: 1%/25%/100%; 0 for none", setBurst},
	{"delay", "delay on the way, 5ms", func(f *link.Faults, s string) (err error) { f.Delay, err = ParseDelay(s); return err }},
	{"jitter", "random additional delay, at most this, 1ms", func(f *link.Faults, s string) (err error) { f.Jitter, err = ParseDelay(s); return err }},
	{"rate", "rate of the line, 1gbit; 0 for no limit", func(f *link.Faults, s string) (err error) { f.Rate, err = ParseRate(s); return err }},
	{"queue", "frames that may wait for the line, 100; 0 for 1000", count(func(f *link.Faults) *int { return &f.Queue })},
	{"queue-bytes", "bytes that may wait for the line, 64k; 0 for no limit", count(func(f *link.Faults) *int { return &f.QueueBytes })},
	{"ecn", "frames in the queue at which ECN marks begin, 20; 0 for never", count(func(f *link.Faults) *int { return &f.ECN })},
	{"dup", "frames that arrive twice, 1%", probability(func(f *link.Faults) *float64 { return &f.Dup })},
	{"reorder", "frames that one to three later ones overtake, 1%", probability(func(f *link.Faults) *float64 { return &f.Reorder })},
	{"corrupt", "frames of which one bit is flipped, 0.1%", probability(func(f *link.Faults) *float64 { return &f.Corrupt })},
}

func setBurst(f *link.Faults, s string) error {
	parts := strings.Split(s, "/")
	if len(parts) == 1 && (parts[0] == "0" || parts[0] == "0%") {
		f.Burst = link.Burst{}
		return nil
	}
	b := link.Burst{Loss: 1}
	to := []*float64{&b.Enter, &b.Leave, &b.Loss}
	if len(parts) < 2 || len(parts) > len(to) {
		return fmt.Errorf("%q is not a burst: write enter/leave/loss, such as 1%%/25%%/100%%", s)
	}
	for i, part := range parts {
		v, err := ParseProbability(part)
		if err != nil {
			return err
		}
		*to[i] = v
	}
	f.Burst = b
	return nil
}

// EachSetting calls f with name and help of each fault.
func EachSetting(f func(name, help string)) {
	for _, s := range settings {
		f(s.name, s.help)
	}
}

// isSetting reports whether name is a fault.
func isSetting(name string) bool {
	return slices.ContainsFunc(settings, func(s setting) bool { return s.name == name })
}

// Apply returns f with the changes, checked.
func (e Edit) Apply(f link.Faults) (link.Faults, error) {
	for name := range e {
		if !isSetting(name) {
			return f, at(fmt.Errorf("there is no fault %q", name), name)
		}
	}
	for _, s := range settings {
		v, ok := e[s.name]
		if !ok {
			continue
		}
		if err := s.set(&f, v); err != nil {
			return f, at(fmt.Errorf("%s: %w", s.name, err), s.name)
		}
	}
	return f, f.Check()
}
