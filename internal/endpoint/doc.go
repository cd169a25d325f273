// Package endpoint implements the objects that all providers share: fabrics and domains with their queues,
// counters, vectors and memory regions; endpoints' bindings and completions; transfers over an engine.Conn;
// aliases, shared and scalable contexts; deferred work; collectives. They implement core's driver interfaces.
// Datagram endpoints use the part without connections.
//
// A provider embeds Fabric, Domain and Endpoint in its own objects. Reliable is an Endpoint with Transfers over
// connections, for MSG and RDM endpoints. The provider adds addresses, connections and I/O.
//
//	Transfers.Post, Send, ... -> Router.Route -> engine.Conn.Submit -> Router.Posted          the provider transmits
//	the provider receives -> engine.Conn.Receive -> Endpoint.Completed -> completion queue
//
// The lock of a domain's progress.Engine guards everything of the domain. "Locked" in the comments below means that
// the caller holds this lock. "Not locked" means that the caller must not hold it.
//
// # Rooms
//
// A file uses what files of its own and of lower rooms declare, lowest first (internal/tidy checks it):
//
//	values:     names.go limits.go order.go offer.go opstats.go
//	fabric:     fabric.go
//	domain:     domain.go children.go vector.go auth.go
//	endpoint:   endpoint.go endpointkey.go bind.go options.go observed.go report.go unknownsource.go linger.go
//	+transmit:  transmit.go lastroute.go rma.go atomic.go contextrouter.go sharedtx.go
//	+receive:   receive.go peek.go late.go sharedrx.go own.go
//	alias:      alias.go aliastrigger.go
//	telemetry:  observe.go
//	collective: collective.go coll.go collgroup.go collop.go joining.go
//	deferred:   work.go workqueue.go workcalls.go trigger.go
//	assembly:   assembly.go reliable.go
//	scalable:   scalable.go scalablecontext.go
//
// An endpoint holds its transmit and receive sides, which report through it; these three are one room. It reaches
// deferred work and collectives through interfaces, which the assembly fills in.
package endpoint
