// Package peers holds the connections of an RDM endpoint over a provider of connections: opened on demand, agreed on when both ends connect at the same moment,
// replaced when the peer was restarted, tried again after a refusal, and closed when nothing happens on them and there is a bound.
//
// The endpoint embeds a Set, which is its endpoint.Router. Package cm decides, and has the rules; a Set tells it what happens and executes its actions on engine.Conns,
// stream.Links and one timer. What the ends say in the private data of a connect differs by protocol: the endpoint's Negotiator.
//
//	Route, Sink.Requested, Connected, Failed, Leaver.Bye, Stay, the timer -> cm.Machine -> Set.run -> execute -> Conn, Link
package peers
