// Package samehost connects processes of one host, for providers that then bypass the network. tcp's streams move
// to local sockets and shared memory, and udp's ports share memory beside their sockets.
//
// One process listens on a local socket. Its name is made of data that the peer has: an address, or a random name
// that was sent over an existing connection. Abstract names (unix(7)) belong to one network namespace, as ports do,
// and leave no file behind; they are free again when the socket is closed. The result of Name contains the version
// of the hello, so processes of different versions do not connect, and continue over the network.
//
// The other process connects and sends one hello (hello.go), with a descriptor of shared memory if there is to be
// some. The listener passes connections with a complete and valid hello to its owner. It closes all others: those
// of another user (internal/trust) at once, those with invalid data when it arrives, silent ones after a second,
// and the oldest one when too many are silent. From then on the end of the socket means the end of the peer. If
// memory is shared, the socket carries doorbells: bytes that wake the peer with any value (internal/shm).
package samehost
