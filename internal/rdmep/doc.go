// Package rdmep is the RDM endpoint over a provider of connections (FI_EP_RDM, fi_endpoint(3)): a listener, and a connection to each peer that it talks to. It owns
// what such endpoints do whatever the protocol: opening, binding, enabling, naming and closing them, and what applications ask of their connections.
//
// A provider embeds Endpoint in its own and says in Config what differs: what makes listeners and connections (stream.Domain), what a connection is made with
// (engine.Config), and what the two ends say to each other in its private data (peers.Negotiator), where it may also put a gateway between the endpoint and a
// peer that speaks otherwise.
//
//	Endpoint: endpoint.Reliable   the API: bindings, transfers, completions, options
//	          peers.Set           the connections, and the routes of transfers to them
package rdmep
