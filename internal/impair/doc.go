// Package impair is an imperfect network: what happens to datagrams on one direction of a path, decided by a seed.
//
// A Link judges each datagram: lost, doubled, held back until later ones have overtaken it, one bit of it flipped, delayed, queued behind a slow line.
// The decisions depend on the seed, the settings and the datagram's place in the sequence alone; those of the line and of partitions on time too. A Link does
// not transmit: what passes at once it hands to an Out, and what is for later it has the Out keep, which owns a Queue.
//
// A Stream is one end of a connection, which sees as time what happens to the packets on its way.
//
// Nothing here locks: a Link and a Queue are guarded by their owners.
package impair
