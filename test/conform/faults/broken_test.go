package faults

// Connections that break, are refused, or stop. Operations on them end with errors, and the next ones succeed.

import (
	"fmt"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/test/conform"
	"gofabric/util/fault"
)

func TestBroken(t *testing.T) {
	for _, st := range []conform.Stack{
		{Name: "msg", Provider: "tcp;fault", EPType: core.EPTypeMsg, Caps: conform.MsgCaps},
		{Name: "msg-srx", Provider: "tcp;fault", EPType: core.EPTypeMsg, SharedRx: true, Caps: conform.RDMCaps},
		{Name: "rdm", Provider: "tcp;fault", EPType: core.EPTypeRDM, Caps: conform.RDMCaps},
		{Name: "rxm", Provider: "tcp;fault;ofi_rxm", EPType: core.EPTypeRDM, Caps: conform.RDMCaps},
	} {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			vars := map[string]string{"FI_FAULT_SEED": fmt.Sprint(*seed),
				"FI_FAULT_RESET": "50000", "FI_FAULT_CUT": "20%"}
			if st.EPType == core.EPTypeRDM {
				vars["FI_FAULT_REFUSE"] = "10%"
			}
			conform.Broken(t, conform.Over(t, st, vars), 40)
		})
	}
}

// send sends a message to the other side. With OpDeliveryComplete an error means that it may not have arrived.
func send(s *conform.Side, b []byte, ctx core.OpContext) error {
	return s.EP.SendMsg(&core.MsgArgs{IOV: [][]byte{b}, Addr: s.Peer, Ctx: ctx}, core.OpDeliveryComplete)
}

// over opens a pair over a stack with faults. Each round sends a message of size bytes from A to B and one byte back.
func over(t *testing.T, provider string, typ core.EPType, size int, vars ...string) (p *conform.Pair,
	round func() (time.Duration, *core.CQErrEntry)) {
	m := map[string]string{"FI_FAULT_SEED": fmt.Sprint(*seed)}
	for i := 0; i < len(vars); i += 2 {
		m[vars[i]] = vars[i+1]
	}
	p = conform.Open(t, conform.Over(t,
		conform.Stack{Name: provider, Provider: provider, EPType: typ, Inserts: true}, m))
	a, b := p.A, p.B
	there, back := make([]byte, size), make([]byte, 1)
	ctx := core.OpContext(0)
	return p, func() (time.Duration, *core.CQErrEntry) {
		ctx += 4
		began := time.Now()
		for _, post := range []func() error{
			func() error { return b.EP.Recv(there, 0, core.AddrUnspec, ctx) },
			func() error { return a.EP.Recv(back, 0, core.AddrUnspec, ctx+1) },
			func() error { return send(a, conform.Pattern(size, uint64(ctx)), ctx+2) },
		} {
			if err := p.TryPost(post); err != nil {
				return 0, &core.CQErrEntry{Err: core.ErrNotConn, Detail: err.Error()}
			}
		}
		if g := p.WantEnd(a, ctx+2, conform.Deadline); g.Err != nil {
			return time.Since(began), g.Err
		}
		if g := p.WantEnd(b, ctx, conform.Deadline); g.Err != nil {
			return time.Since(began), g.Err
		}
		conform.CheckPattern(t, "message", there, size, uint64(ctx))
		p.Retry("send", func() error { return send(b, []byte{1}, ctx+3) })
		if g := p.WantEnd(b, ctx+3, conform.Deadline); g.Err != nil {
			return time.Since(began), g.Err
		}
		if g := p.WantEnd(a, ctx+1, conform.Deadline); g.Err != nil {
			return time.Since(began), g.Err
		}
		return time.Since(began), nil
	}
}

// lost returns how many packets a side's faults have lost.
func lost(p *conform.Pair) uint64 {
	sum, _ := fault.ConnectionsOf(p.A.Domain.Driver())
	return sum.Packets.Lost
}

// TestTimes checks that delay and rate have an effect, that lost packets arrive late, and that counters show what
// happened.
func TestTimes(t *testing.T) {
	for name, tt := range map[string]struct {
		size  int
		least time.Duration // for a round
		vars  []string
	}{
		"plain": {100, 0, nil},
		"delay": {100, 40 * time.Millisecond, []string{"FI_FAULT_DELAY", "20ms"}},
		"line":  {1 << 20, 100 * time.Millisecond, []string{"FI_FAULT_RATE", "10MB"}},
		"loss":  {100, 0, []string{"FI_FAULT_LOSS", "20%"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, st := range []struct {
				provider string
				t        core.EPType
			}{{"tcp;fault", core.EPTypeMsg}, {"tcp;fault;ofi_rxm", core.EPTypeRDM}} {
				p, round := over(t, st.provider, st.t, tt.size, tt.vars...)
				for n := 0; n < 5 || name == "loss" && n < 100 && lost(p) == 0; n++ {
					took, err := round()
					if err != nil {
						t.Fatalf("%v %s", err.Err, err.Detail)
					}
					if took < tt.least {
						t.Errorf("%s: a round takes %v, want at least %v", st.provider, took, tt.least)
					}
				}
				sum, ok := fault.ConnectionsOf(p.A.Domain.Driver())
				if !ok || (name != "plain") != (sum.Packets.Sent > 0) || (name == "loss") != (sum.Packets.Lost > 0) {
					t.Errorf("counts: %+v, %v", sum, ok)
				}
			}
		})
	}
}

// TestPartition checks that a short partition is a pause, and that one longer than the peer time-out ends the
// connection.
func TestPartition(t *testing.T) {
	for _, st := range []struct {
		provider string
		t        core.EPType
	}{{"tcp;fault", core.EPTypeMsg}, {"tcp;fault", core.EPTypeRDM}, {"tcp;fault;ofi_rxm", core.EPTypeRDM}} {
		t.Run(fmt.Sprint(st.provider, st.t), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, round := over(t, st.provider, st.t, 100000, "FI_FAULT_PARTITION", "500ms-900ms,1200ms-",
				"FI_TCP_PEER_TIMEOUT", "500", "FI_TCP_CONNECT_TIMEOUT", "1000",
				"FI_OFI_RXM_CONNECT_TIMEOUT", "1000")
			longest := time.Duration(0)
			for {
				took, err := round()
				if err != nil {
					if at := time.Since(began); err.Err != core.ErrTimedOut && err.Err != core.ErrNotConn &&
						err.Err != core.ErrCanceled || at < 1600*time.Millisecond {
						t.Errorf("after %v: %v %s", at, err.Err, err.Detail)
					}
					break
				}
				longest = max(longest, took)
			}
			if longest < 200*time.Millisecond {
				t.Errorf("the longest round took %v, although nothing passed for 400 ms", longest)
			}
		})
	}
}

// TestCloseInFlight closes an end while messages of its peer are on the way. It accepts none of them, and does not
// wait for them.
func TestCloseInFlight(t *testing.T) {
	for _, provider := range []string{"tcp;fault", "tcp;fault;ofi_rxm"} {
		t.Run(provider, func(t *testing.T) {
			p, round := over(t, provider, core.EPTypeRDM, 100, "FI_FAULT_DELAY", "30ms")
			if _, err := round(); err != nil {
				t.Fatalf("%v %s", err.Err, err.Detail)
			}
			buf := make([]byte, 1000)
			for i := range 50 {
				if err := p.TryPost(func() error { return send(p.B, buf, core.OpContext(1000+i)) }); err != nil {
					t.Fatal(err)
				}
			}
			p.A.Pump() // what has arrived is queued until its delivery time
			began := time.Now()
			p.A.CloseEP()
			if took := time.Since(began); took > conform.Deadline {
				t.Errorf("the close took %v", took)
			}
		})
	}
}
