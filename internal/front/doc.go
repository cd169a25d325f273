// Package front holds the API objects that every reliable provider needs and none needs for itself: fabrics and domains with their queues, counters, vectors and
// memory regions; the bindings of endpoints and the reporting of completions; the transmit and receive calls over an engine.Conn; aliases and shared
// receive contexts. An endpoint of datagrams uses the part without connections.
//
// A provider embeds Fabric, Domain and Endpoint in its own objects, and Transmitter and Receiver in its endpoints; it adds addresses, connections and
// whatever carries their bytes.
//
//	ep.Send -> Transmitter.Send -> Router.Route -> engine.Conn.Submit -> Router.Posted        the provider transmits
//	the provider receives -> engine.Conn.Receive -> Endpoint.Completed -> completion queue
//
// Everything of a domain is guarded by the lock of its progress.Engine. "Locked" below means that the caller holds it.
package front
