package endpoint

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// Message order (fi_endpoint(3), "msg_order"). A connection's stream keeps every order except operations after
// reads. The peer answers a read from the memory at the time when the stream has room, so a later write could
// change the data before that. If an endpoint asks for such an order, its operations wait at the sender until the
// reads are complete.

// readOrder are the orders that cost time. Only endpoints that ask for them get them.
const readOrder = core.OrderWAR | core.OrderRMAWAR | core.OrderSAR

// RelaxOrder removes the orders of readOrder from info unless hints asks for them (core.Defaulter). info was made
// for hints, which may be nil.
func RelaxOrder(info, hints *core.Info) {
	var tx, rx core.Order
	size := 0
	if hints != nil && hints.Tx != nil {
		tx = hints.Tx.MsgOrder
	}
	if hints != nil && hints.Rx != nil {
		rx = hints.Rx.MsgOrder
	}
	if hints != nil && hints.EP != nil && hints.EP.MaxOrderWARSize > 0 {
		tx |= core.OrderRMAWAR
	}
	if tx&core.OrderWAR != 0 {
		tx |= core.OrderRMAWAR // WAR includes RMA_WAR
	}
	if tx&core.OrderRMAWAR != 0 {
		size = info.EP.MaxOrderWARSize
	}
	info.Tx.MsgOrder &^= readOrder &^ tx
	info.Rx.MsgOrder &^= readOrder &^ (tx | rx)
	info.EP.MaxOrderWARSize = size
}

// behindReads returns the kinds of operations, as bits, that must not overtake reads on an endpoint of info.
func behindReads(info *core.Info) (kinds uint16) {
	if info.Tx == nil {
		return 0
	}
	o := info.Tx.MsgOrder
	if o&(core.OrderWAR|core.OrderRMAWAR) != 0 {
		kinds |= 1 << engine.KindWrite
	}
	if o&core.OrderWAR != 0 {
		kinds |= 1<<engine.KindAtomic | 1<<engine.KindFetch | 1<<engine.KindCompare
	}
	if o&core.OrderSAR != 0 {
		kinds |= 1 << engine.KindSend
	}
	return kinds
}
