// Package peers holds the connections of an RDM endpoint over a provider of connections: opened on demand, agreed upon when both ends connect at the same
// moment, replaced when the peer was restarted, tried again after a refusal that is none, and closed when nothing happens on
// them and there is a bound.
//
// The endpoint embeds a Set, which is its front.Router. What the ends say in the private data of a connect differs by protocol: the endpoint's Manners.
package peers
