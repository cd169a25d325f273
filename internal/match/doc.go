// Package match has the two queues of a receiving endpoint, posted receives and unexpected messages, and pairs them
// by libfabric's rules (fi_msg(3), fi_tagged(3)). A receive accepts a message if its source is [AnySource] or the
// message's own, and if the tags agree in every bit that the receive does not ignore. Of several such receives the
// oldest gets the message. Untagged messages use the same queues with tag and mask 0.
//
// # Classes
//
// Each distinct pair of ignore mask and "directed or not" is a class (FI_DIRECTED_RECV, fi_getinfo(3)). Within a
// class acceptance is equality: of the tag without the ignored bits and, if directed, of the source. A hash table
// therefore finds the oldest receive of a class that accepts a message, however many are posted. A message is
// looked up in every class that has a receive posted. The lowest sequence number of the results is the oldest
// receive:
//
//	message (src 7, tag 0x1234)
//	  |
//	  +- class ignore 0,    any source: probe (any, 0x1234) -> #18 -> #40
//	  +- class ignore 0,    directed:   probe (7,   0x1234) -> none
//	  +- class ignore 0xff, any source: probe (any, 0x1200) -> #11 -> #12 -> #90   #11 is the oldest, and matches
//
// Receives with equal keys form a ring, oldest first. The table has each key once, and a thousand equal receives
// cost no more than a thousand different ones. A class exists while it has receives: the time of a match depends on
// the masks in use now, not on those used before.
//
// With very many receives the cost of a match is cache misses, so there are only two: a line of the table, and the
// receive, which is one cache line itself. The index therefore has no list by age. A caller that walks the receives
// in order has it sorted once (ageindex.go).
//
// # Unexpected messages
//
// An unexpected message does not know which class will ask for it. A view is an index of all unexpected messages by
// the key of one class. It is built when a receive of that class had to search far, and is kept up to date until
// the queue is empty. There are a few views at most. Receives of other classes search the queue, oldest message
// first.
//
// # Short queues
//
// Both queues begin as lists in order of age. While what is searched for is near the head (always so for untagged
// messages) there is nothing else to maintain. At the first long search posted receives move to their index, and
// unexpected messages get a view. An empty queue is a list again.
//
// A [Queue] has no lock. The owner of the endpoint holds one. It does no I/O, reads no clock, and allocates only to
// grow its tables.
package match
