package bench

import "testing"

// TestMerge: merge puts each link's rounds beside those of the reference, and of native's tools that ran with it.
func TestMerge(t *testing.T) {
	result := func(v float64, native ...float64) Result {
		r := Result{Stack: "udp/dgram", Name: "latency", Test: Test{Kind: Latency, Size: 64}, Unit: "us", Ours: []Sample{{Value: v}}}
		if native != nil {
			r.Against = []Against{{Tool: "fi_pingpong", Values: native}}
		}
		return r
	}
	failed := Result{Stack: "udp/dgram", Name: "latency", Error: "lost"}
	got := Merge([]Datapath{
		{Name: "xdp", Rounds: [][]Result{{result(2)}, {result(3)}}},
		{Name: "auto", Rounds: [][]Result{{failed}, {result(4)}}},
		{Name: "sockets", Rounds: [][]Result{{result(4, 8)}, {result(6, 12)}}},
	})
	if len(got) != 3 {
		t.Fatalf("%d results: %+v", len(got), got)
	}
	for i, want := range []struct {
		stack, err string
		against    int
		values     int
	}{{"udp/dgram xdp", "", 2, 2}, {"udp/dgram auto", "lost", 2, 1}, {"udp/dgram sockets", "", 1, 2}} {
		g := got[i]
		if g.Stack != want.stack || g.Error != want.err || len(g.Against) != want.against ||
			len(g.Ours) != want.values {
			t.Errorf("%d: %+v", i, g)
		}
	}
	a := got[0].Against
	if a[0].Tool != "fi_pingpong" || a[0].Ratios[0] != 0.25 || a[0].Ratios[1] != 0.25 || a[1].Tool != "sockets" ||
		a[1].Ratios[0] != 0.5 || a[1].Ratios[1] != 0.5 {
		t.Errorf("%+v", a)
	}
}
