package bench

import (
	"context"
	"errors"
	"fmt"
)

// This file measures without end.

// Round is one measurement of many. Its Sample says when it was made.
type Round struct {
	Stack string `json:"stack"`
	Name  string `json:"name"`
	Test  Test   `json:"test"`
	Unit  string `json:"unit"`
	Sample
}

// Follow runs the tests of one stack in turn, always between the same two processes, and calls tell with each
// measurement. So changes around the processes over time are separate from differences between processes. It ends
// with ctx, after Config.Rounds of each test (0: no limit), with a test that fails, or with an error of tell.
func Follow(ctx context.Context, c Config, tell func(Round) error) error {
	if len(c.Stacks) != 1 || c.Native != nil {
		return errors.New("--follow takes one stack, and no native tools")
	}
	st := c.Stacks[0]
	tests, window := c.Plan.For(st), 0
	if len(tests) == 0 {
		return fmt.Errorf("there is no such test on %s", st)
	}
	for _, t := range tests {
		if t.needs() != tests[0].needs() {
			return fmt.Errorf("%s and %s cannot share two processes: follow one of them", tests[0].Name(), t.Name())
		}
		window = max(window, t.Window)
	}
	s, err := openSession(ctx, c.Providers, c.Peer, st, window, tests[0].needs())
	if err != nil {
		return err
	}
	defer s.close()
	for n := 0; c.Rounds == 0 || n < c.Rounds; n++ {
		for _, t := range tests {
			sample, err := s.measure(ctx, t, c.Time)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err == nil {
				err = tell(Round{Stack: st.String(), Name: t.Name(), Test: t, Unit: t.Unit(), Sample: sample})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// String returns the measurement as a line.
func (r Round) String() string {
	line := fmt.Sprintf("%s  %s  %s  %s  %s %s", r.At.Format("15:04:05.000"), r.Stack, r.Name, sizeText(r.Test.Size), number(r.Value), r.Unit)
	if r.P50 > 0 {
		line += fmt.Sprintf("  p50 %s  p99 %s", number(r.P50), number(r.P99))
	}
	if r.Lost > 0 {
		line += fmt.Sprintf("  %d datagrams lost: no room at the receiver", r.Lost)
	}
	return line
}
