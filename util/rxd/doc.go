// Package rxd is the layer ofi_rxd: reliable endpoints (RDM) over any provider of datagrams, as in "udp;ofi_rxd"
// (fi_rxd(7)).
//
// The provider, its fabric and its domain are built on internal/layer. An endpoint has one port of the provider
// below, and an engine (util/rxd/session) with its peers. The engine exchanges native packets with native peers.
// With gofabric peers it uses flows (util/rxd/flow), which are faster and recover from any loss. docs/wire/rxd.md
// describes both. For either kind of peer the operations are those of internal/xnet/engine, and the API objects
// those of internal/endpoint.
//
// A posted operation leaves at once, or with others before the next pass (package batch). Passes receive datagrams;
// the domain's goroutine makes them while the application does not.
package rxd
