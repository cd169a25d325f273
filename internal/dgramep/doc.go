// Package dgramep is the datagram endpoint (FI_EP_DGRAM, fi_endpoint(3)) over any datagram port. It has posted
// receives and completions, for programs that want libfabric's objects without a reliable layer. Providers of
// datagrams open it for their domains.
//
//	ep.Send -> datagram.Port.Send -> completion, at once
//	ep.Recv -> posted; the port's Received copies the next datagram there -> completion
//
// Messages are as unreliable as the network: they may be lost, duplicated and overtaken, without an error. Sends
// that the port does not take now wait in a bounded queue. Datagrams that come before a receive is posted wait in
// another one; native libfabric leaves them in the socket.
package dgramep
