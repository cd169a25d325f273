package udp

import "gofabric/core"

func init() {
	core.Register(core.Registration{Name: "udp", Rank: core.RankUDP, New: func(params *core.Params, host core.Host) (core.Provider, error) { return New(params, host) }})
}
