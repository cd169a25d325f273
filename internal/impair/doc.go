// Package impair is an imperfect network. It decides, from a seed, the faults of the datagrams on one direction of
// a path.
//
// A Link decides about each datagram. It may be lost, duplicated, held back until later ones have overtaken it,
// corrupted in one bit, delayed, or queued for a slow line. The decisions depend only on the seed, the settings and
// the datagram's position in the sequence; those about the line and partitions depend on time as well. A Link does
// not transmit. It passes datagrams that leave at once to an Out, and delayed ones to the Out's Queue.
//
// A Stream is one end of a connection. It shows faults of the connection's packets as delay.
//
// There are no locks in this package: the owners of a Link and a Queue guard them.
package impair
