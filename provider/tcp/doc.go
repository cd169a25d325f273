// Package tcp is the tcp provider: MSG endpoints (connected) and RDM endpoints (connections on demand) over TCP sockets, in the wire format of native
// libfabric's tcp provider ("xnet", docs/wire/tcp.md).
//
// The protocol lives in packages wire and engine; this package is their driver. A domain has one lock, that of its progress.Engine; endpoints,
// queues and counters share it. A stream is a socket with its engine connection. Endpoints have no goroutines of their own.
//
//	ep.Send -> endpoint.submit -> engine.Conn.Submit -> stream.posted -> flush: sendmsg
//	cq.Read -> progress pass -> stream.receive: recvmsg -> engine.Conn.Receive -> endpoint.Completed -> cq.Push
package tcp
