// Package peers holds the connections of an RDM endpoint over a provider of connections. They are opened on demand.
// When both ends connect at once, the ends agree on one connection. A connection is replaced when the peer was
// restarted, tried again after a refusal, and closed when it is idle and there is a limit.
//
// The endpoint embeds a Set, which is its endpoint.Router. Package cm contains the rules and decides. A Set passes
// events to it, and executes its actions on engine.Conns, stream.Conns and one timer. The private data of a connect
// differs by protocol; it is the work of the endpoint's Negotiator.
//
//	Route, Sink.Requested, Connected, Failed, Leaver.Bye, Stay, the timer
//	        -> cm.Machine -> Set.run -> execute -> Conn, Stream
package peers
