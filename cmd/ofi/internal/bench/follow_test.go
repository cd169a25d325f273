package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gofabric/core"
)

// TestFollow: the tests take turns between the same two processes, and each measurement is reported when it is
// made. The number of rounds, the context, or an error of the listener ends the series.
func TestFollow(t *testing.T) {
	c := Config{Providers: testProviders, Peer: peerThat("obey"), Stacks: []Stack{{"tcp", core.EPTypeRDM}}, Time: 2 * time.Millisecond, Rounds: 3,
		Plan: Plan{Tests: []string{"latency", "rate"}, Window: 8}}
	var order []string
	last := time.Now()
	err := Follow(t.Context(), c, func(r Round) error {
		order = append(order, r.Name)
		if r.At.Before(last) || r.At.After(time.Now()) || r.Value <= 0 || r.Usec <= 0 {
			t.Errorf("%+v after %v", r, last)
		}
		if line := r.String(); !strings.Contains(line, "tcp/rdm  "+r.Name+"  64  ") || !strings.Contains(line, r.Unit) {
			t.Error(line)
		}
		last = r.At
		return nil
	})
	if err != nil || strings.Join(order, " ") != "latency rate latency rate latency rate" {
		t.Errorf("%v: %v", order, err)
	}
	c.Rounds = 0
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	told := 0
	if err := Follow(ctx, c, func(Round) error {
		if told++; told == 3 {
			cancel(enough)
		}
		return nil
	}); err != enough || told != 3 {
		t.Errorf("after the context ended: %v, %d rounds", err, told)
	}
	if err := Follow(t.Context(), c, func(Round) error { return enough }); err != enough {
		t.Errorf("after an error of the listener: %v", err)
	}
}
