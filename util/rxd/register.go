package rxd

import "gofabric/core"

func init() {
	core.Register(core.Registration{Name: layerName, Rank: core.RankDatagramLayer, New: func(params *core.Params, host core.Host) (core.Provider, error) { return New(params, host) }})
}
