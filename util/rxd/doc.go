// Package rxd is the layer ofi_rxd: reliable endpoints (RDM) over any provider of datagrams, as in "udp;ofi_rxd" (fi_rxd(7)).
//
// The provider, its fabric and domain stand on internal/layer. An endpoint has one port of the provider below and an engine (util/rxd/engine) that knows its peers. Native peers are spoken to in native's format, peers of
// this module over flows of the extension (util/rxd/flow), which are faster and survive any loss; docs/wire/rxd.md describes both. Whatever the peer, the
// operations are those of internal/xnet/engine, and the API objects those of internal/endpoint.
//
// What is posted leaves at once, or with what follows before the next pass (package batch); what comes is taken by passes, or by the domain's goroutine while
// the application is away.
package rxd
