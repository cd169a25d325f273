// Package all gives a program everything in this module: all providers and layers, strict mode, and the client of the
// node's daemon. Import it for its effect:
//
//	import (
//		"gofabric"
//		_ "gofabric/all"
//	)
//
// A program that needs less imports some of the packages below instead, as it would import drivers of database/sql.
// With gofabric/provider/tcp alone it contains neither AF_XDP nor HTTP, and is less than half as large.
package all

import (
	_ "gofabric/fabricd"                   // names and figures by the node's daemon
	_ "gofabric/internal/trust/structured" // refusals are logged by log/slog
	_ "gofabric/provider/tcp"              // connections and reliable datagrams over TCP
	_ "gofabric/provider/udp"              // datagrams over sockets, AF_XDP and shared memory
	_ "gofabric/util/fault"                // faults of a network, for tests of programs
	_ "gofabric/util/rxd"                  // reliable datagrams over a provider of datagrams
	_ "gofabric/util/rxm"                  // reliable datagrams over a provider of connections
	_ "gofabric/util/strict"               // strict mode (FI_STRICT)
)
