package pingpong

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/tcpport"
	"gofabric/test/wait"
)

// pair runs both ends in this process over net, and returns the results and the error of each.
func pair(t *testing.T, f *fakeNet, cfg Config) (server, client []Result, serr, cerr error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
	defer cancel()
	cfg.GetInfo, cfg.OpenFabric = f.getInfo, f.openFabric
	listening := make(chan string, 1)
	done := make(chan struct{})
	scfg := cfg
	scfg.SrcPort = freePort(t)
	scfg.Listening = func(addr string) { listening <- addr }
	go func() {
		defer close(done)
		server, serr = Run(ctx, scfg)
	}()
	select {
	case <-listening:
	case <-done:
		t.Fatalf("server: %v", serr)
	}
	cfg.Server, cfg.DstPort = "127.0.0.1", scfg.SrcPort
	client, cerr = Run(ctx, cfg)
	<-done
	return
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	ports, err := tcpport.Free("127.0.0.1", 1)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(ports[0])
}

func TestPairs(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
		net  func(*fakeNet)
		rows int
	}{
		{name: "msg, default sizes", cfg: Config{Type: core.EPTypeMsg, Size: UnsetSize, Check: true}, rows: 6},
		{name: "msg, local registration", cfg: Config{Type: core.EPTypeMsg, Size: UnsetSize, Check: true}, net: func(f *fakeNet) { f.mrLocal = true }, rows: 6},
		{name: "rdm, all sizes", cfg: Config{Type: core.EPTypeRDM, Size: AllSizes, Check: true, Iterations: 2}, rows: 46},
		{name: "rdm, tagged", cfg: Config{Type: core.EPTypeRDM, Size: UnsetSize, Check: true, Tagged: true}, rows: 6},
		{name: "rdm, posts refused", cfg: Config{Type: core.EPTypeRDM, Size: UnsetSize, Check: true}, net: func(f *fakeNet) { f.again = 2 }, rows: 6},
		{name: "dgram, small limit", cfg: Config{Type: core.EPTypeDgram, Size: UnsetSize, Check: true}, net: func(f *fakeNet) { f.maxMsg = 1500 }, rows: 3},
		{name: "one size", cfg: Config{Type: core.EPTypeRDM, Size: 5000, Check: true}, rows: 1},
		{name: "empty messages", cfg: Config{Type: core.EPTypeRDM, Size: 0, Check: true}, rows: 1},
		{name: "no iterations", cfg: Config{Type: core.EPTypeMsg, Size: 64}, rows: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFakeNet()
			if tc.net != nil {
				tc.net(f)
			}
			if tc.cfg.Iterations == 0 && tc.name != "no iterations" {
				tc.cfg.Iterations = 5
			}
			tc.cfg.Timeout = 5 * time.Second
			server, client, serr, cerr := pair(t, f, tc.cfg)
			if serr != nil || cerr != nil {
				t.Fatalf("server: %v\nclient: %v", serr, cerr)
			}
			for _, r := range [][]Result{server, client} {
				if len(r) != tc.rows {
					t.Fatalf("%d results, want %d: %v", len(r), tc.rows, r)
				}
				for _, row := range r {
					if row.Sent != tc.cfg.Iterations || row.Acked != row.Sent {
						t.Errorf("size %d: sent %d, acked %d, want %d",
							row.Size, row.Sent, row.Acked, tc.cfg.Iterations)
					}
				}
			}
			if f.openEPs != 0 {
				t.Errorf("%d endpoints left open", f.openEPs)
			}
		})
	}
}

func TestCorruptionIsFound(t *testing.T) {
	f := newFakeNet()
	f.drop = func(b []byte) []byte {
		if f.posts > 30 && len(b) == 64 {
			b[13] ^= 1
		}
		return b
	}
	_, _, serr, cerr := pair(t, f, Config{Type: core.EPTypeRDM, Size: 64, Iterations: 50, Check: true, Timeout: 3 * time.Second, grace: 200 * time.Millisecond})
	for _, err := range []error{serr, cerr} {
		if err == nil {
			t.Fatal("no error")
		}
	}
	if msg := serr.Error() + cerr.Error(); !strings.Contains(msg, "data check failed") ||
		!strings.Contains(msg, "byte 13") {
		t.Errorf("server: %v\nclient: %v", serr, cerr)
	}
}

func TestLossEndsAtTheTimeout(t *testing.T) {
	f := newFakeNet()
	n := 0
	f.drop = func(b []byte) []byte {
		if n++; n == 7 {
			return nil
		}
		return b
	}
	_, _, serr, cerr := pair(t, f, Config{Type: core.EPTypeDgram, Size: 64, Iterations: 50, Timeout: 300 * time.Millisecond})
	if !errors.Is(serr, core.ErrTimedOut) && !errors.Is(cerr, core.ErrTimedOut) {
		t.Errorf("server: %v\nclient: %v", serr, cerr)
	}
	if msg := serr.Error() + cerr.Error(); !strings.Contains(msg, "a datagram was lost") {
		t.Errorf("no advice in %q", msg)
	}
}

func TestLostLastDatagramIsNoFailure(t *testing.T) {
	f := newFakeNet()
	n := 0
	f.drop = func(b []byte) []byte {
		if string(b) == "fin\x00" {
			if n++; n == 2 {
				return nil
			}
		}
		return b
	}
	_, _, serr, cerr := pair(t, f, Config{Type: core.EPTypeDgram, Size: 64, Iterations: 3, Timeout: 10 * time.Second, grace: 200 * time.Millisecond})
	if serr != nil || cerr != nil {
		t.Errorf("server: %v\nclient: %v", serr, cerr)
	}
}

func TestFailedTransfer(t *testing.T) {
	f := newFakeNet()
	b := &bench{cfg: &Config{Timeout: time.Second}, ctx: t.Context(), info: &core.Info{EP: &core.EPAttr{}}}
	cq := &fakeCQ{net: f, fail: &core.CQErrEntry{Err: core.ErrTrunc, Detail: "receive from 127.0.0.1:7000"}}
	var done uint64
	err := b.await(queue(cq), &done, 1, "a message")
	if !errors.Is(err, core.ErrTrunc) || !strings.Contains(err.Error(), "receive from 127.0.0.1:7000") {
		t.Errorf("got %v", err)
	}
}

// TestFailedInject: a message without a completion that fails ends the wait for its answer, long before the time-out.
func TestFailedInject(t *testing.T) {
	f := newFakeNet()
	b := &bench{cfg: &Config{Timeout: time.Minute}, ctx: t.Context(), info: &core.Info{EP: &core.EPAttr{}}}
	b.txCQ = queue(&fakeCQ{net: f, fail: &core.CQErrEntry{Err: core.ErrTimedOut, Detail: "no answer from 127.0.0.1:7000"}})
	b.rxCQ, b.rxSeq = queue(&fakeCQ{net: f}), 1
	err := b.receive(8)
	if !errors.Is(err, core.ErrTimedOut) || !strings.Contains(err.Error(), "no answer from 127.0.0.1:7000") {
		t.Errorf("got %v", err)
	}
}

func TestServerWithoutClient(t *testing.T) {
	f := newFakeNet()
	_, err := Run(t.Context(), Config{SrcPort: freePort(t), Size: UnsetSize, Timeout: 20 * time.Millisecond, GetInfo: f.getInfo, OpenFabric: f.openFabric})
	if err == nil || !strings.Contains(err.Error(), "no client connected") {
		t.Errorf("got %v", err)
	}
}

func TestClientWithoutServer(t *testing.T) {
	f := newFakeNet()
	_, err := Run(t.Context(), Config{Server: "127.0.0.1", DstPort: freePort(t), Size: UnsetSize, Timeout: time.Second, GetInfo: f.getInfo, OpenFabric: f.openFabric})
	if err == nil || !strings.Contains(err.Error(), "no pingpong server listens") {
		t.Errorf("got %v", err)
	}
}

func TestCancel(t *testing.T) {
	f := newFakeNet()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	_, err := Run(ctx, Config{SrcPort: freePort(t), Size: UnsetSize, GetInfo: f.getInfo, OpenFabric: f.openFabric,
		Listening: func(string) { cancel(why) }})
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

// TestLoopAllocatesNothing checks the loops that measure latency.
func TestLoopAllocatesNothing(t *testing.T) {
	f := newFakeNet()
	f.posts = 0
	b := &bench{cfg: &Config{Check: true, Timeout: time.Second}, ctx: t.Context(), info: &core.Info{EP: &core.EPAttr{}}}
	cq := &fakeCQ{net: f}
	d, err := core.NewFabric(quietFabric{}).OpenDomain(nil)
	if err != nil {
		t.Fatal(err)
	}
	if b.ep, err = d.OpenEndpoint(nil); err != nil {
		t.Fatal(err)
	}
	b.txCQ = queue(cq)
	b.rxCQ = b.txCQ
	b.txBuf, b.rxBuf = make([]byte, 64), make([]byte, 64)
	b.tx, b.rx = b.txBuf, b.rxBuf
	if n := testing.AllocsPerRun(100, func() {
		cq.n = 2
		b.rxSeq = b.rxDone + 1
		b.filled.messages = b.check.messages
		if err := b.transmit(64, false); err != nil {
			t.Fatal(err)
		}
		copy(b.rx, b.tx)
		if err := b.receive(64); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per iteration", n)
	}
}

// quietEP accepts operations and does nothing.
type (
	quietFabric struct{ core.FabricDriver }
	quietDomain struct{ core.DomainDriver }
	quietEP     struct{ core.EndpointDriver }
)

func (quietFabric) OpenDomain(*core.Info) (core.DomainDriver, error) { return quietDomain{}, nil }
func (quietDomain) OpenEndpoint(*core.Info, *core.Endpoint) (core.EndpointDriver, error) {
	return quietEP{}, nil
}
func (quietEP) Post(core.Op) error { return nil }
