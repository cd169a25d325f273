package record

import (
	"gofabric/core"
	"gofabric/util/hook"
)

// region is a memory region.
type region struct {
	hook.MR
	object
}

func (m *region) Enable() error { return m.r.do("fi_mr_enable", m.MR.Enable) }

func (m *region) Desc() core.Desc { return value(m.r, "fi_mr_desc", m.MR.Desc) }

func (m *region) Key() uint64 { return value(m.r, "fi_mr_key", m.MR.Key) }

func (m *region) Bind(obj any, flags core.BindFlags) error {
	return with(m.r, "fi_mr_bind", flags, func(flags core.BindFlags) error { return m.MR.Bind(obj, flags) })
}
