package gofabric

import (
	"errors"
	"testing"

	"gofabric/core"
)

// TestChoose queries systems that have fewer and fewer features.
func TestChoose(t *testing.T) {
	tagged := core.CapMsg | core.CapTagged | core.CapRMA
	for _, c := range []struct {
		name   string
		offers core.Caps
		auto   bool
		cfg    Config
		want   core.Caps // in the query that was granted; 0: all are refused
	}{
		{"everything", ^core.Caps(0), true, Config{}, tagged | extraCaps},
		{"no directed receive", ^core.CapDirectedRecv, true, Config{}, tagged | core.CapSource},
		{"no source", ^extraCaps, true, Config{}, tagged},
		{"no tags", ^(extraCaps | core.CapTagged), true, Config{}, core.CapMsg | core.CapRMA},
		{"messages only", core.CapMsg, true, Config{}, core.CapMsg},
		{"tags wanted", core.CapMsg, true, Config{Caps: core.CapTagged}, 0},
		{"manual progress", ^core.Caps(0), false, Config{}, tagged | extraCaps},
		{"automatic progress wanted", ^core.Caps(0), false, Config{Progress: core.ProgressAuto}, 0},
		{"hints", ^core.Caps(0), true, Config{Hints: &core.Info{Caps: core.CapMsg}}, core.CapMsg | extraCaps},
		{"connections", ^core.Caps(0), true, Config{Type: core.EPTypeMsg}, core.CapMsg | core.CapRMA},
	} {
		s := &system{getInfo: func(q core.Query) ([]*core.Info, []core.Refusal, error) {
			if q.Hints.Caps&^c.offers != 0 || !c.auto && q.Hints.Domain.DataProgress == core.ProgressAuto {
				return nil, nil, &core.OpError{Op: "fi_getinfo", Err: core.ErrNoData}
			}
			return []*core.Info{q.Hints.Dup()}, nil, nil
		}}
		cfg := configure(c.cfg)
		info, err := s.choose(cfg, cfg.query("", "", true))
		switch {
		case c.want == 0:
			if !errors.Is(err, core.ErrNoData) {
				t.Errorf("%s: got %v, %v", c.name, info, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case info.Caps != c.want:
			t.Errorf("%s: got %#x, want %#x", c.name, uint64(info.Caps), uint64(c.want))
		}
	}
}
