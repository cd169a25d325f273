// Package cm is the connection management of an RDM endpoint over connections: it decides who is connected to whom. It has no socket, no lock and no clock;
// times are arguments.
//
// The driver (internal/peers) tells a Machine what happened: an operation wants a connection, the listener accepted one, a request came, a connection came up, was
// refused, failed, the peer said bye or stay, time passed. The Machine answers with Actions, which the driver executes in the order of Next. An event may come
// while an action is executed; the actions that follow from it stand behind those that wait already.
//
// # States
//
// A Conn is what operations to a peer are posted to, together with the transport that it has, or waits for.
//
//	Accepted  -- request -->                                         Deciding, or decided at once
//	Deciding  -- what came on the connection before is read -->      Up (Accept) | Closed (Refuse)
//
//	            Want                       answer
//	             |                           |
//	             v                           v      nothing under way
//	  +------> Dialing ------------------->  Up ------------------------> Leaving
//	  |          |  refused, though          ^   our bye; what is posted     |
//	  |          |  operations wait          |   from now on waits for a     +-- the peer stays: back to Up, posts return
//	  |          v                           |   new Conn: Waiting           |
//	  +------- Waiting ----------------------+                               +-- the peer's bye, or its end: Closed; the new
//	   pause     |      the peer's own request                                   Conn dials if something waits for it
//	   is over   v
//	           Closed    (from every state: failed, replaced, disconnected)
//
//	Up -- its peer has closed, auxiliary connections only --> Draining -- its end, or time --> Closed
//
// Every state but Up and Waiting behind Leaving ends by a time: Accepted, Deciding and Dialing by the handshake's deadline, which is the connection's own (the
// event is Failed), Waiting by the next attempt, Leaving by Config.Patience if operations wait, Draining by Crossing.
//
// # Rules for requests
//
// They are those of libfabric, xnet_process_connreq (prov/tcp/src/xnet_rdm_cm.c) and rxm_process_connreq (prov/rxm/src/rxm_conn.c), so that native peers agree:
//
//	there is                    the request is
//	no connection               accepted
//	Waiting                     accepted: we have no request out
//	Dialing                     refused if the peer's address is less than ours: it gives up for our request; accepted if it is greater: ours is given
//	                            up; if they are equal it is our own, and the second end of a connection of the endpoint with itself
//	Up, the same incarnation    refused: it crossed ours on the way, and its sender has given it up, or will when our request arrives
//	Up, another incarnation     accepted: the peer was restarted, and what is there is dead
//	Up, incarnation unknown     refused: the peer's answer is on its way to us
//
// Addresses are compared as by ofi_addr_cmp. An incarnation is native's process id; endpoints of this module draw a number. Incarnations have no order: a request
// of a peer that has died, if it arrives after the restarted peer has connected, replaces that connection.
//
// Three rules go beyond native's. A peer that asks again longer than Crossing after the connection came up has lost it, and is accepted. What came on the
// connection before is read before a request is decided on, for a close, a bye or the last messages may be there. While our bye has no answer, a request of the
// same incarnation is refused: it is older than the answer, or has overtaken it.
//
// A refusal usually means that the peer's own request is under way, so the refused end waits for that, and asks again after a pause.
package cm
