// Package endpoint implements the objects that all providers share: fabrics and domains with their queues,
// counters, vectors and memory regions; endpoints' bindings and completions; transfers over an engine.Conn;
// aliases, shared and scalable contexts; deferred work; collectives. They implement core's driver interfaces.
// Datagram endpoints use the part without connections.
//
// A provider embeds Fabric, Domain and Endpoint in its own objects. Reliable is an Endpoint with Transfers over
// connections, for MSG and RDM endpoints. The provider adds addresses, connections and I/O.
// kinds. The provider adds addresses, connections and what carries their bytes.
//
//	Transfers.Post, Send, ... -> Router.Route -> engine.Conn.Submit -> Router.Posted          the provider transmits
//	the provider receives -> engine.Conn.Receive -> Endpoint.Completed -> completion queue
//
// The lock of a domain's progress.Engine guards everything of the domain. "Locked" in the comments below means that
// the caller holds this lock. "Not locked" means that the caller must not hold it.
package endpoint
