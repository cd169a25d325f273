package bench

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// This file runs a whole benchmark: stacks, tests, rounds, and native tools in between.

// Config is the configuration of a benchmark.
type Config struct {
	Providers Providers
	// Peer returns the command of the other process, which must call Peer.
	Peer   func(context.Context) *exec.Cmd
	Stacks []Stack
	Plan   Plan
	Time   time.Duration // of one measurement
	Rounds int           // measurements of each test; with Native, pairs
	Native *Native       // nil: none
	// Progress receives what is measured next, and the number of measurements. It may be nil.
	Progress func(done, total int, what string)
}

// Result is the result of a test on a stack.
type Result struct {
	Stack   string    `json:"stack"`
	Name    string    `json:"name"`
	Test    Test      `json:"test"`
	Unit    string    `json:"unit"`
	Ours    []Sample  `json:"ours,omitempty"`
	Against []Against `json:"native,omitempty"`
	Error   string    `json:"error,omitempty"`
}

// Against is the result of a native tool for the same test. Ratios are ours to native's, each of two consecutive
// runs.
type Against struct {
	Tool   string    `json:"tool"`
	Values []float64 `json:"values,omitempty"`
	Ratios []float64 `json:"ratios,omitempty"`
	Note   string    `json:"note,omitempty"` // about the values
	Error  string    `json:"error,omitempty"`
}

// Values returns the samples' values.
func (r *Result) Values() []float64 {
	var v []float64
	for _, s := range r.Ours {
		v = append(v, s.Value)
	}
	return v
}

// Lost returns the number of datagrams that were dropped while the samples were taken.
func (r *Result) Lost() (n uint64) {
	for _, s := range r.Ours {
		n += s.Lost
	}
	return n
}

// Run runs the tests. A test that fails is a Result with Error and does not end the others. The returned error is
// that of ctx.
func Run(ctx context.Context, c Config) ([]Result, error) {
	b := &run{Config: c}
	b.Rounds = max(c.Rounds, 1)
	for _, s := range c.Stacks {
		for _, t := range c.Plan.For(s) {
			b.total += b.Rounds * (1 + len(c.Native.tools(s, t)))
		}
	}
	for _, s := range c.Stacks {
		b.stack(ctx, s)
		if ctx.Err() != nil {
			return b.results, context.Cause(ctx)
		}
	}
	b.say("done")
	return b.results, nil
}

type run struct {
	Config
	results     []Result
	done, total int
}

func (b *run) say(what string) {
	if b.Progress != nil {
		b.Progress(b.done, b.total, what)
	}
}

// stack runs all tests on a stack. The native tools run between the rounds, so that changes on the machine affect
// both alike.
func (b *run) stack(ctx context.Context, st Stack) {
	var s *session
	var opened needs
	closeSession := func() {
		if s != nil {
			s.close()
			s = nil
		}
	}
	defer func() { closeSession() }()
	tests, window := b.Plan.For(st), 0
	for _, t := range tests {
		window = max(window, t.Window) // one pair of endpoints serves all tests
	}
	for _, t := range tests {
		r := Result{Stack: st.String(), Name: t.Name(), Test: t, Unit: t.Unit()}
		for _, tool := range b.Native.tools(st, t) {
			r.Against = append(r.Against, Against{Tool: tool.name})
		}
		if t.needs() != opened {
			closeSession()
			opened = t.needs()
		}
		for round := range b.Rounds {
			if r.Error == "" {
				b.say(fmt.Sprintf("%s %s %s, round %d", st, t.Name(), sizeText(t.Size), round+1))
				var sample Sample
				var err error
				if s == nil {
					s, err = openSession(ctx, b.Providers, b.Peer, st, window, opened)
				}
				if err == nil {
					sample, err = s.measure(ctx, t, b.Time)
				}
				if err != nil { // the state of the endpoints is unknown: open new ones
					r.Error = err.Error()
					closeSession()
				} else {
					r.Ours = append(r.Ours, sample)
				}
			}
			b.done++
			b.against(ctx, st, t, &r)
			if ctx.Err() != nil {
				return
			}
		}
		b.results = append(b.results, r)
	}
}

// against runs the native tools once each.
func (b *run) against(ctx context.Context, st Stack, t Test, r *Result) {
	for i, tool := range b.Native.tools(st, t) {
		a := &r.Against[i]
		if a.Error == "" {
			b.say(fmt.Sprintf("%s %s %s, native %s", st, t.Name(), sizeText(t.Size), tool.name))
			usec, err := b.Native.run(ctx, tool, st, t, b.Time)
			if err == errWrong {
				a.Note = err.Error()
			}
			if usec == 0 {
				a.Error = err.Error()
			} else {
				v := t.value(usec)
				a.Values = append(a.Values, v)
				if n := len(r.Ours); n > 0 && v > 0 && r.Error == "" {
					a.Ratios = append(a.Ratios, r.Ours[n-1].Value/v)
				}
			}
		}
		b.done++
	}
}
