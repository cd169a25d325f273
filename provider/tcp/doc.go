// Package tcp is the tcp provider: MSG endpoints (connected) and RDM endpoints (connections on demand) over TCP sockets, in the wire format of native
// libfabric's tcp provider ("xnet", docs/wire/tcp.md).
//
// The protocol lives in internal/xnet, the API objects in internal/endpoint, the RDM endpoint in internal/rdmep; this package is the driver of sockets between
// them. A domain has one lock, that of its progress.Engine; endpoints, queues and counters share it. A stream is an engine connection with the carrier of its
// bytes: a TCP connection, a local socket, shared memory, or a TCP connection with faults (carrier*.go). Between processes of one host streams move from TCP to
// another carrier (move.go). Endpoints have no goroutines of their own.
//
//	ep.Send -> endpoint.Transmitter -> peers.Set.Route -> engine.Conn.Submit -> Posted -> tcpStream.posted -> carrier.transmit: sendmsg
//	cq.Read -> progress pass -> tcpStream.receive -> carrier.receive: recvmsg -> engine.Conn.Receive -> endpoint.Endpoint.Completed -> cq.Queue.Slot
package tcp
