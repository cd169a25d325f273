package core

// Scalable endpoints and shared transmit contexts: several queues behind one address, and one queue behind several addresses (fi_endpoint(3)).

// ScalableEndpoint is an endpoint with one address and several transmit and receive contexts, which have completion queues and counters of their own
// (fi_scalable_ep, fi_endpoint(3)). The contexts share the address vector and the connections. It takes an address vector and no queues, and its own data
// calls fail with ErrNoSys.
//
// Contexts are endpoints that only send or only receive: the other calls fail with ErrNoSys. They may be used from several goroutines, each with a context of
// its own or not. Operations of one transmit context towards one receive context keep their order; between contexts none is promised (fi_tx_context(3)).
type ScalableEndpoint interface {
	Endpoint
	// TxContext and RxContext open the context of an index, below info.EP's TxCtxCnt or RxCtxCnt, which must not be open (fi_tx_context(3),
	// fi_rx_context(3)). attr asks for less than the endpoint has and is told what there is; nil is what the endpoint has. Bind queues to a context and
	// enable it; transmits need the scalable endpoint to be enabled, too. Contexts must be closed before the endpoint.
	TxContext(index int, attr *TxAttr) (Endpoint, error)
	RxContext(index int, attr *RxAttr) (Endpoint, error)
}

// SharedTx is a shared transmit context: the transmits of all endpoints bound to it count against its size together (fi_stx_context(3)). It has no calls of its
// own; completions go to the queues of the endpoints. Close fails with ErrBusy while endpoints are bound to it.
type SharedTx interface{ Object }

// RxAddr makes the address of a receive context of a peer: fi is the peer's in an address vector that was opened with RxCtxBits of bits (fi_rx_addr,
// fi_av(3)). The endpoint that sends there needs CapNamedRxCtx.
func RxAddr(fi FIAddr, index, bits int) FIAddr { return FIAddr(index)<<(64-bits) | fi }
