// Package rdmep is the RDM endpoint over a provider of connections (FI_EP_RDM, fi_endpoint(3)). It has a listener,
// and a connection to each peer that it communicates with. It implements the parts that do not depend on the
// protocol: open, bind, enable, name and close, and the options of the endpoint.
//
// A provider embeds Endpoint in its own type. Its Config sets the parts that differ: the domain that makes
// listeners and connections (stream.Domain), the configuration of connections (engine.Config), and the private data
// that the two ends exchange when they connect (peers.Negotiator). A Negotiator may also put a gateway between the
// endpoint and a native peer.
//
//	Endpoint: endpoint.Reliable   the API: bindings, transfers, completions, options
//	          peers.Set           the connections, and the routes of transfers to them
package rdmep
