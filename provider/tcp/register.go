package tcp

import "gofabric/core"

func init() {
	core.Register(core.Registration{Name: "tcp", Rank: core.RankTCP, New: func(params *core.Params, host core.Host) (core.Provider, error) { return New(params, host) }})
}
