// Package rxm is the layer ofi_rxm: reliable endpoints (RDM) over any provider of connections, as in "tcp;ofi_rxm" (fi_rxm(7)).
//
// An endpoint (internal/rdmep) has a listener of the provider below and a connection to each peer that it talks to (internal/transport/stream). The provider,
// its fabric and domain stand on internal/layer. Towards a peer of this module the connection's operations are the endpoint's own: nothing stands between, and
// the layer costs nothing. Towards a native peer a gateway (util/rxm/engine) translates them to native's packets, which travel as messages of the connection,
// and back; RMA of the peer is served by the connection itself. docs/wire/rxm.md describes both.
//
//	ep.Send -> endpoint -> peers.Set.Route -> Conn.Submit -> Posted -> link                                          a peer of this module
//	ep.Send -> endpoint -> peers.Set.Route -> upper Conn.Submit -> Posted -> gateway -> lower Conn.Submit -> link    a native peer
package rxm
