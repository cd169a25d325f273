package gofabric

import (
	"errors"

	"gofabric/core"
)

// Where Infos and fabrics come from.

// system is a set of providers and the machine they run on.
type system struct {
	getInfo    func(q core.Query) ([]*core.Info, []core.Refusal, error)
	openFabric func(info *core.Info) (core.Fabric, error)
}

// extraCaps are capabilities that the calls of this package make use of where they exist: who sent a message, and receiving from one peer only. They
// are asked for first, all of them, and given up if nothing offers them.
const extraCaps = core.Source | core.CapDirectedRecv

// choose asks for one Info for a configuration. Without capabilities asked for it takes the most useful set that is offered.
func (s *system) choose(q core.Query, anyCaps bool) (*core.Info, error) {
	plain := q.Hints.Caps
	tries := []core.Flags{plain | extraCaps, plain | core.Source, plain}
	if q.Hints.EP.Type == core.EPTypeMsg || plain&(core.CapMsg|core.CapTagged) == 0 {
		tries = tries[2:]
	}
	if anyCaps {
		tries = append(tries, core.CapMsg|core.CapRMA, core.CapMsg|core.Source, core.CapMsg)
	}
	var list []*core.Info
	var err error
	for _, caps := range tries {
		q.Hints.Caps = caps
		if list, _, err = s.getInfo(q); err == nil && len(list) > 0 {
			return list[0], nil
		}
		if err != nil && !errors.Is(err, core.ErrNoData) {
			return nil, err
		}
	}
	if err == nil {
		err = &core.OpError{Op: "fi_getinfo", Provider: q.Hints.Fabric.ProvName, Err: core.ErrNoData}
	}
	return nil, err
}

// defaultSystem is this machine with all providers of the module.
var defaultSystem = &system{getInfo: GetInfo, openFabric: OpenFabric}
