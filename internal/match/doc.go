// Package match keeps the two queues of a receiving endpoint, posted receives and unexpected messages, and pairs them by libfabric's rules
// (fi_msg(3), fi_tagged(3)): a receive accepts a message when its source is [AnySource] or the message's own, and when the tags agree in every
// bit which the receive does not ignore; among several the oldest wins. Plain messages use the same queues with tag and mask zero.
//
// # Classes
//
// Each distinct pair (ignore mask, directed or not) is a class. Within a class acceptance is equality, of the tag without the ignored bits and,
// if directed, of the source; so a hash table finds the oldest receive of a class that accepts a message, however many are posted. A message
// asks every class that has a receive posted, and the lowest sequence number among the answers is the oldest receive of all:
//
//	message (src 7, tag 0x1234)
//	  |
//	  +- class ignore 0,    any source: probe (any, 0x1234) -> #18 -> #40
//	  +- class ignore 0,    directed:   probe (7,   0x1234) -> none
//	  +- class ignore 0xff, any source: probe (any, 0x1200) -> #11 -> #12 -> #90     #11 is the lowest: it gets the message
//
// Receives with equal keys hang in one ring, oldest first, so the table holds each key once, and posting a thousand equal receives costs no more
// than posting a thousand different ones. A class exists while it has receives: matching costs time in proportion to the masks in use at the
// moment, and masks of the past cost nothing.
//
// What a match costs when very many are posted is cache misses, so there are two: a line of the table, and the receive, which is one line itself.
// The index therefore keeps no list by age; who wants to walk in order makes it sort once (ageindex.go).
//
// # Unexpected messages
//
// Here a message does not know which class will ask for it. A view is an index of all unexpected messages as one class of receives sees them. It
// is built when a receive of that class had to look far, and then kept up to date until the queue is empty. A few views exist at most; classes
// beyond those scan the queue, oldest first.
//
// # Short queues
//
// Both queues begin as lists in order of age. As long as what is asked for stands near the head (always so for untagged messages) nothing else is
// maintained: at the first long scan posted receives move to their index, and unexpected messages get a view; when the queue has run empty it is a
// list again.
//
// A [Queue] has no lock; the owner of the endpoint holds one. It performs no I/O, reads no clock, and allocates only to grow its tables.
package match
