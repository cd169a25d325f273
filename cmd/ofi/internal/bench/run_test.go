package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"gofabric/core"
)

var tcpStacks = []Stack{{"tcp", core.EPTypeMsg}, {"tcp", core.EPTypeRDM}}

// TestRun runs every kind of test on both types of endpoint, as briefly as possible.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	said := 0
	results, err := Run(ctx, Config{Providers: testProviders, Peer: peerThat("obey"), Stacks: tcpStacks, Time: 2 * time.Millisecond, Rounds: 2,
		Plan:     Plan{Bulk: []int{8 << 10}, Window: 8},
		Progress: func(done, total int, what string) { said++ }})
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 6+8 {
		t.Errorf("%d results", len(results))
	}
	for _, r := range results {
		if r.Error != "" {
			t.Errorf("%s %s: %s", r.Stack, r.Name, r.Error)
			continue
		}
		if len(r.Ours) != 2 {
			t.Errorf("%s %s: %d samples, want 2", r.Stack, r.Name, len(r.Ours))
		}
		for _, s := range r.Ours {
			if s.Value <= 0 || s.Usec <= 0 || s.Iters <= 0 || s.P50 > s.P99 {
				t.Errorf("%s %s: %+v", r.Stack, r.Name, s)
			}
		}
	}
	if said < 2*len(results) {
		t.Errorf("progress was reported %d times", said)
	}
	var out bytes.Buffer
	if err := Table(&out, results); err != nil || strings.Count(out.String(), "\n") != 1+len(results) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestOneWay has a window larger than the default queues of the provider, after a test without a window.
func TestOneWay(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	results, err := Run(ctx, Config{Providers: testProviders, Peer: peerThat("obey"), Stacks: tcpStacks[1:], Time: time.Millisecond,
		Plan: Plan{Tests: []string{"latency", "rate", "write", "read"}, Bulk: []int{4096}, Window: 300, OneWay: true}})
	if err != nil || len(results) != 4 {
		t.Fatalf("%v %+v", err, results)
	}
	for _, r := range results {
		if r.Error != "" {
			t.Errorf("%s: %s", r.Name, r.Error)
		}
	}
}

// TestDatagrams measures a stack that may lose messages. The second time it loses all of them, which ends the
// measurement with an error.
func TestDatagrams(t *testing.T) {
	stack := Stack{"udp", core.EPTypeDgram}
	results, err := Run(t.Context(), Config{Providers: testProviders, Peer: peerThat("obey"), Stacks: []Stack{stack}, Time: 5 * time.Millisecond, Plan: Plan{}})
	if err != nil || len(results) != 2 || results[0].Error+results[1].Error != "" {
		t.Fatalf("%v %+v", err, results)
	}
	s, err := newSide(testProviders, stack, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	test := Test{Kind: Latency, Size: 64}
	if _, err = s.prepare(test); err == nil {
		err = s.join(core.IPAddr(netip.MustParseAddrPort(node + ":9"))) // no process answers at this address
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.limit(50 * time.Millisecond)()
	if _, err = s.run(Work{Test: test, Iters: 1}, true, nil); !errors.Is(err, core.ErrTimedOut) {
		t.Errorf("no answer: %v", err)
	}
}

func TestPeerFails(t *testing.T) {
	for does, want := range map[string]string{"die": "no more strength", "hang": context.Canceled.Error()} {
		ctx, cancel := context.WithCancel(t.Context())
		if does == "hang" {
			time.AfterFunc(50*time.Millisecond, cancel)
		}
		results, err := Run(ctx, Config{Providers: testProviders, Peer: peerThat(does), Stacks: tcpStacks[1:], Time: time.Millisecond,
			Plan: Plan{Tests: []string{"latency"}}})
		cancel()
		text := ""
		if len(results) > 0 {
			text = results[0].Error
		}
		if err != nil {
			text += err.Error()
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: got %v, %+v", does, err, results)
		}
	}
}

// TestInterrupted ends the context in the middle of a measurement. Nothing may be left over.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	start := time.Now()
	_, err := Run(ctx, Config{Providers: testProviders, Peer: peerThat("obey"), Stacks: tcpStacks, Time: time.Minute, Plan: Plan{}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestBadOrders sends a peer orders that it cannot follow.
func TestBadOrders(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"do":"run"}`, "without endpoint"},
		{`{"do":"open","stack":"tcp/stream"}`, "msg, rdm or dgram"},
		{`{"do":"open","stack":"no-such/rdm"}`, "no provider"},
		{`{"do":"open","stack":"tcp/rdm"}` + "\n" + `{"do":"accept","addr":"nonsense"}`, "not an address"},
		{`{"do":"open","stack":"tcp/rdm"}` + "\n" + `{"do":"dance"}`, "unknown order"},
	} {
		r, w := io.Pipe()
		var out bytes.Buffer
		done := make(chan error, 1)
		replies := &notifying{w: &out, ch: make(chan struct{}, 10)}
		go func() { done <- Peer(testProviders, r, replies) }()
		for _, line := range strings.Split(c.in, "\n") {
			io.WriteString(w, line+"\n")
			<-replies.ch
		}
		w.Close()
		if err := <-done; err != nil {
			t.Errorf("%s: %v", c.in, err)
		}
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: got %s", c.in, out.String())
		}
	}
	if err := Peer(testProviders, strings.NewReader("{"), io.Discard); err == nil {
		t.Error("an incomplete line was taken for the end of the input")
	}
}

// notifying reports each write.
type notifying struct {
	w  io.Writer
	ch chan struct{}
}

func (n *notifying) Write(b []byte) (int, error) {
	defer func() { n.ch <- struct{}{} }()
	return n.w.Write(b)
}

func TestResultsAsJSON(t *testing.T) {
	text, err := json.Marshal(sampleResults)
	if err != nil {
		t.Fatal(err)
	}
	var back []Result
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(back)
	if !bytes.Equal(text, again) || !strings.Contains(string(text), `"unit":"us"`) ||
		!strings.Contains(string(text), `"ratios":[0.5,0.6]`) {
		t.Errorf("got %s", text)
	}
}
