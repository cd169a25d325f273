// Package gofabric is libfabric's object model (OpenFabrics Interfaces, OFI) in pure Go: fabrics, endpoints, completion
// queues and memory regions over ordinary sockets, with the wire formats of native libfabric.
//
// This package is the simple API. Open opens an endpoint with everything it needs, Dial and Listen make connections.
// Calls wait with a context:
//
//	import (
//		"gofabric"
//		_ "gofabric/all"
//	)
//
//	ep, err := gofabric.Open(ctx, gofabric.Config{Provider: "tcp"})
//	defer ep.Close()
//	peer, err := ep.Insert("node7:7471")
//	err = ep.TSend(ctx, peer, buf, 42) // returns when complete, or when ctx ends
//
// Package core has every call of libfabric, and its completion queues, counters and atomic operations. GetInfo and
// Package core has every call of libfabric, and its completion queues, counters and atomic operations. GetInfo and
// OpenFabric of this package open core's objects; the examples "core" and "atomics" show how.
// # Providers
//
// A program has the providers that it imports, as it has drivers with database/sql. Package gofabric/all imports all
// there is. A program that wants less imports what it uses for its effect: provider/tcp, provider/udp, util/rxm,
// util/rxd, util/fault, util/strict, and fabricd for names of the node's daemon. An error says which import is missing.
// core.Register adds providers of other modules.
//
// # Errors
//
// An error is a *core.OpError: it names the operation, the provider, the local address, the peer and the cause, and
// says what to do. errors.Is finds libfabric's error numbers in it (core.ErrTrunc), the system's (syscall.ECONNREFUSED)
// and the causes of contexts (context.DeadlineExceeded).
//
// # The modules
//
// The library, the commands (cmd), the C library (cmd/libfabric) and the tests (test) are modules of one workspace
// (go.work). From the top down; a package imports only what stands below it:
//
//	workspace              runs the tests of the other modules
//	test                   conformance over every stack, simulation, native peers, chaos
//	cmd/ofi                the tools: ofi info, env, strerror, pingpong, bench, dump, top
//	cmd/fabricd            the daemon of a node: names, other processes' figures, an emulated fabric
//	cmd/libfabric          libfabric.so.1 for C programs
//	boot                   how the processes of a job find each other
//	fabrictest             a fabric inside a test
//	all                    imports all providers and layers, and fabricd
//	gofabric               this package: the simple API; opens the providers that the program imports
//	fabricd                the client of the daemon: names, and answers to its questions for figures
//	util/rxm, util/rxd     reliable datagrams over connections, over datagrams
//	util/fault, strict     what bad networks do, and what hardware demands, to any stack
//	provider/tcp           MSG and RDM endpoints over TCP, local sockets and shared memory
//	provider/udp           DGRAM endpoints over sockets, or past the kernel's stack (AF_XDP)
//	internal/endpoint      the API objects that reliable providers share: domains, bindings, completions, data calls
//	internal/peers         connections of RDM endpoints; links and ports below: internal/transport/...
//	cq                     completion queues, event queues, counters, wait and poll sets
//	av                     address vectors
//	core/mr                memory regions: keys and access checks
//	internal/progress      a domain's progress, on the caller's thread or by itself
//	core                   the object model: values, interfaces, errors, providers' registry, GetInfo, parameters
//	internal/xnet/engine   the state machine of a connection; no I/O, no clock
//	internal/xnet/wire     the xnet format of native libfabric's tcp provider
//	internal/match         posted and unexpected messages: tags, masks, peek and claim
//	internal/xdp, neigh    AF_XDP, and the routes and neighbours that its frames need
//	internal/shm           streams and datagrams through memory that two processes share
//	internal/host          this machine as GetInfo sees it: interfaces, names, routes
//	internal/netx          system calls, for Linux and for others
//	internal/mono          the monotonic clock
//
// ARCHITECTURE.md has the rest, and how they work together.
package gofabric
