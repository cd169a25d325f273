// Package samehost connects processes of one host, for providers that then go past the network: tcp's streams move to local sockets and shared memory, udp's
// ports share memory beside their sockets.
//
// The process that can be found listens on a local socket whose name follows from what the peer knows: an address, or a random name that an existing connection
// has told it. Abstract names (unix(7)) belong to one network namespace, as ports do, and leave no file behind; the socket goes with the process. Name has the
// version of the hello in it, so processes of different versions do not find each other, and stay with the network.
//
// The process that connects sends one hello (hello.go), with a descriptor of shared memory if there is to be some. The listener hands over connections whose
// hello is complete and correct. It closes all others: those of another user (internal/trust) at once, those that send something else as soon as they do, silent
// ones after a second, and the oldest one when too many are silent. From then on the socket's end is the peer's end. If memory is shared, the socket carries
// doorbells: bytes without a meaning that wake the peer (internal/shm).
package samehost
