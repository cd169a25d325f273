// Package tcp is the tcp provider: MSG endpoints (connected) and RDM endpoints (connections on demand) over TCP
// sockets. Its wire format is that of libfabric's tcp provider ("xnet", docs/wire/tcp.md).
//
// The protocol is in internal/xnet, the API objects in internal/endpoint, the RDM endpoint in internal/rdmep. This
// package drives the sockets between them. A domain has one lock, that of its progress.Engine, which endpoints,
// queues and counters share. A stream is an engine connection with a carrier for its bytes: a TCP connection, a
// local socket, shared memory, or a TCP connection with faults (carrier*.go). Streams between processes of one host
// move from TCP to another carrier (move.go). Endpoints have no goroutines of their own.
//
//	ep.Send -> endpoint.Transmitter -> peers.Set.Route -> engine.Conn.Submit
//	        -> Posted -> tcpStream.posted -> carrier.transmit: sendmsg
//	cq.Read -> progress pass -> tcpStream.receive -> carrier.receive: recvmsg
//	        -> engine.Conn.Receive -> endpoint.Endpoint.Completed -> cq.Queue.Slot
package tcp
