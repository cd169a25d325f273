package strict

import "gofabric/core"

func init() {
	core.RegisterHook(func(params *core.Params) (core.Hook, error) { return New(params, nil) })
}
