// Package dgramep is the endpoint of datagrams (FI_EP_DGRAM, fi_endpoint(3)) over any port: posted receives and completions for programs that want the object
// model and not a reliable layer. Providers of datagrams open it for their domains.
//
//	ep.Send -> datagram.Port.Send -> completion, at once
//	ep.Recv -> posted; the port's Received copies the next datagram there -> completion
//
// Messages are as unreliable as the network is: they may be lost, doubled and overtaken, and nobody is told. What the port does not take now waits in a
// bounded queue; datagrams that come before a receive is posted wait in another one, where native libfabric leaves them in the socket.
package dgramep
