// Package cm is the connection management of an RDM endpoint over connections. It decides which connection to a
// peer is used when requests cross, peers restart, or connections are idle. It has no socket, no lock and no clock.
// Times are arguments.
//
// The driver (internal/peers) passes events to a Machine: an operation needs a connection; the listener accepted
// one; a request arrived; a connection came up, was refused, or failed; the peer sent bye or stay; time passed. The
// Machine answers with Actions. The driver executes them in the order of Next. An event may occur while an action
// is executed. Its actions are queued behind those that wait already.
//
// # States
//
// A Conn takes the operations to a peer. It has a transport, or waits for one.
//
//	Accepted  -- request -->                                         Deciding, or decided at once
//	Deciding  -- the previous connection has been read -->           Up (Accept) | Closed (Refuse)
//
//	            Want                       answer
//	             |                           |
//	             v                           v      idle
//	  +------> Dialing ------------------->  Up ------------------------> Leaving
//	  |          |  refused, though          ^   our bye; later posts        |
//	  |          |  operations wait          |   wait on a new Conn in       +-- the peer's stay: back to Up
//	  |          v                           |   state Waiting               |
//	  +------- Waiting ----------------------+                               +-- the peer's bye or close: Closed;
//	   pause     |      the peer's own request                                   the new Conn dials if posts wait
//	   is over   v
//	           Closed    (from every state: failed, replaced, disconnected)
//
//	Up -- auxiliary connections only: the peer has closed --> Draining -- end of its stream, or Crossing --> Closed
//
// Every state ends by a deadline, except Up, and Waiting while the previous connection is Leaving. Accepted,
// Deciding and Dialing end by the deadline of the connection's own handshake (the event is Failed). Waiting ends by
// the next attempt, Leaving by Config.Patience if operations wait, Draining by Crossing.
//
// # Rules for requests
//
// They are those of libfabric, xnet_process_connreq (prov/tcp/src/xnet_rdm_cm.c) and rxm_process_connreq
// (prov/rxm/src/rxm_conn.c), so that native peers decide alike:
//
//	there is                    the request is
//	no connection               accepted
//	Waiting                     accepted: we have no request out
//	Dialing                     refused if the peer's address is less than ours: the peer gives it up in favour of ours;
//	                            accepted if it is greater: we give up ours;
//	                            if they are equal, it is our own: the second end of a connection with ourselves
//	Up, the same incarnation    refused: it crossed ours, and the peer has given it up, or will when ours arrives
//	Up, another incarnation     accepted: the peer was restarted, and the connection is dead
//	Up, incarnation unknown     refused: the peer's answer is on its way to us
//
// Addresses are compared as by ofi_addr_cmp (libfabric, src/common.c). The incarnation of a native peer is its
// process id. gofabric endpoints draw a random number. Incarnations have no order. If a request of a peer that has
// died arrives after the restarted peer has connected, it replaces that connection.
//
// Three rules go beyond libfabric's. First, a peer that repeats its request longer than Crossing after the
// connection came up has lost the connection, and is accepted. Second, the previous connection is read before a
// request is decided, since a close, a bye or the last messages may be there. Third, while our bye has no answer, a
// request of the same incarnation is refused, because it is older than the answer or has overtaken it.
//
// A refusal usually means that the peer's own request is on its way. The refused end waits for it, and repeats its
// own request after a pause.
package cm
