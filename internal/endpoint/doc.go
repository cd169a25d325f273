// Package endpoint holds what the objects of all providers share: fabrics and domains with their queues, counters, vectors and memory regions; the bindings
// of endpoints and the reporting of completions; transfers over an engine.Conn; aliases, shared and scalable contexts; deferred work; collectives. They
// implement core's driver interfaces. An endpoint of datagrams uses the part without connections.
//
// A provider embeds Fabric, Domain and Endpoint in its own objects. Reliable is an Endpoint with Transfers over connections, for reliable endpoints of all
// kinds. The provider adds addresses, connections and what carries their bytes.
//
//	Transfers.Post, Send, ... -> Router.Route -> engine.Conn.Submit -> Router.Posted          the provider transmits
//	the provider receives -> engine.Conn.Receive -> Endpoint.Completed -> completion queue
//
// The lock of a domain's progress.Engine guards everything of the domain. "Locked" below means that the caller holds it.
package endpoint
