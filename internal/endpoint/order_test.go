package endpoint_test

import (
	"testing"

	"gofabric/core"
	"gofabric/internal/endpoint"
)

// TestRelaxOrder: only endpoints that ask for the orders of readOrder get them.
func TestRelaxOrder(t *testing.T) {
	const all = core.OrderSAS | core.OrderWAR | core.OrderRMAWAR | core.OrderSAR
	const free = core.OrderSAS
	const most = 1 << 20
	for name, c := range map[string]struct {
		hints      func(h *core.Info) // nil: there are none
		tx, rx     core.Order
		maxWARSize int
	}{
		"no hints":          {nil, free, free, 0},
		"hints of no order": {func(*core.Info) {}, free, free, 0},
		"hints without parts": {func(h *core.Info) { h.Tx, h.Rx, h.EP = nil, nil, nil },
			free, free, 0},
		"an order that is free": {func(h *core.Info) { h.Tx.MsgOrder = core.OrderSAS },
			free, free, 0},
		"sends after reads": {func(h *core.Info) { h.Tx.MsgOrder = core.OrderSAR },
			free | core.OrderSAR, free | core.OrderSAR, 0},
		"RMA writes after reads": {func(h *core.Info) { h.Tx.MsgOrder = core.OrderRMAWAR },
			free | core.OrderRMAWAR, free | core.OrderRMAWAR, most},
		"writes after reads, which include RMA's": {func(h *core.Info) { h.Tx.MsgOrder = core.OrderWAR },
			free | core.OrderWAR | core.OrderRMAWAR, free | core.OrderWAR | core.OrderRMAWAR, most},
		"a size for which writes stay behind reads": {func(h *core.Info) { h.EP.MaxOrderWARSize = 1 },
			free | core.OrderRMAWAR, free | core.OrderRMAWAR, most},
		"of receives alone": {func(h *core.Info) { h.Rx.MsgOrder = core.OrderSAR }, free,
			free | core.OrderSAR, 0},
	} {
		info := testInfo(allCaps)
		info.Tx.MsgOrder, info.Rx.MsgOrder, info.EP.MaxOrderWARSize = all, all, most
		var hints *core.Info
		if c.hints != nil {
			hints = core.NewHints()
			c.hints(hints)
		}
		endpoint.RelaxOrder(info, hints)
		if info.Tx.MsgOrder != c.tx || info.Rx.MsgOrder != c.rx || info.EP.MaxOrderWARSize != c.maxWARSize {
			t.Errorf("%s: orders %v and %v, %d bytes; want %v, %v, %d", name, info.Tx.MsgOrder, info.Rx.MsgOrder,
				info.EP.MaxOrderWARSize, c.tx, c.rx, c.maxWARSize)
		}
	}
}
