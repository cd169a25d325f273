package gofabric

import (
	"errors"

	"gofabric/core"
)

// This file chooses Infos.

// system is a set of providers and the machine on which they run.
type system struct {
	getInfo    func(q core.Query) ([]*core.Info, []core.Refusal, error)
	openFabric func(info *core.Info) (*core.Fabric, error)
}

// extraCaps are capabilities that the calls of this package use if the provider has them: the sender of a message,
// and receives from one peer only. The first query has all of them. They are dropped if no provider has them.
const extraCaps = core.CapSource | core.CapDirectedRecv

// choose returns the best Info for a configuration.
func (s *system) choose(c *config, q core.Query) (*core.Info, error) {
	info, err := s.chooseCaps(q, c.anyCaps())
	if errors.Is(err, core.ErrNoData) && c.Progress == core.ProgressUnspec && (c.Hints == nil || c.Hints.Domain.DataProgress == core.ProgressUnspec) {
		q.Hints.Domain.DataProgress = core.ProgressUnspec // no provider has automatic progress: accept any mode
		if other, err := s.chooseCaps(q, c.anyCaps()); err == nil {
			return other, nil
		}
	}
	return info, err
}

// chooseCaps tries sets of capabilities in order of preference.
func (s *system) chooseCaps(q core.Query, anyCaps bool) (*core.Info, error) {
	plain := q.Hints.Caps
	defer func() { q.Hints.Caps = plain }()
	tries := []core.Caps{plain | extraCaps, plain | core.CapSource, plain}
	if q.Hints.EP.Type == core.EPTypeMsg || plain&(core.CapMsg|core.CapTagged) == 0 {
		tries = tries[2:]
	}
	if anyCaps {
		tries = append(tries, core.CapMsg|core.CapRMA, core.CapMsg|core.CapSource, core.CapMsg)
	}
	var asked error // the error of the first query, without substitutes
	for _, caps := range tries {
		q.Hints.Caps = caps
		list, _, err := s.getInfo(q)
		if err == nil && len(list) > 0 {
			return list[0], nil
		}
		if err != nil && !errors.Is(err, core.ErrNoData) {
			return nil, err
		}
		if caps == plain {
			asked = err
		}
	}
	if asked == nil {
		asked = &core.OpError{Op: "fi_getinfo", Provider: q.Hints.Fabric.ProvName, Err: core.ErrNoData}
	}
	return nil, asked
}

// defaultSystem is this machine with all providers that the program imports.
var defaultSystem = &system{getInfo: GetInfo, openFabric: OpenFabric}
