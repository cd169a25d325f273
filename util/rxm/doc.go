// Package rxm is the layer ofi_rxm: reliable endpoints (RDM) over any provider of connections, as in "tcp;ofi_rxm"
// (fi_rxm(7)).
//
// An endpoint (internal/rdmep) has a listener of the provider below, and a connection to each peer with which it
// exchanges messages (internal/transport/stream). The provider, its fabric and its domain are built on
// internal/layer. To a gofabric peer the endpoint posts on the connection itself, so the layer costs nothing. To a
// native peer a gateway (util/rxm/gateway) translates operations to native's packets and back. The packets are
// messages of the connection, and the connection itself serves RMA of the peer. docs/wire/rxm.md describes both.
//
//	a gofabric peer: ep.Send -> endpoint -> peers.Set.Route -> Conn.Submit -> Posted -> stream
//	a native peer:   ep.Send -> endpoint -> peers.Set.Route -> upper Conn.Submit -> Posted -> gateway
//	                 -> lower Conn.Submit -> stream
package rxm
