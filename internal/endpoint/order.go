package endpoint

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// Message order (fi_endpoint(3), "msg_order"). A connection's stream keeps every order but that behind reads: the peer sends what is read from where it is,
// when there is room in the stream, so that what came meanwhile would be seen. An endpoint that asks for these orders has such operations wait at the sender.

// readOrder are the orders that cost something, and that only those get who ask for them.
const readOrder = core.OrderWAR | core.OrderRMAWAR | core.OrderSAR

// RelaxOrder takes the orders out of info, an Info made for hints, that must be asked for, unless they were (core.Defaulter). hints may be nil.
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
		tx |= core.OrderRMAWAR // which it includes
	}
	if tx&core.OrderRMAWAR != 0 {
		size = info.EP.MaxOrderWARSize
	}
	info.Tx.MsgOrder &^= readOrder &^ tx
	info.Rx.MsgOrder &^= readOrder &^ (tx | rx)
	info.EP.MaxOrderWARSize = size
}

// behindReads returns, as bits, the kinds of operations that an endpoint of info must not let overtake reads.
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
