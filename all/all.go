// Package all gives a program all there is of this module: every provider and layer, strict mode, and the node's daemon. Import it for its effect:
//
//	import (
//		"gofabric"
//		_ "gofabric/all"
//	)
//
// A program that wants less imports the packages below one by one, as it would the drivers of database/sql: with gofabric/provider/tcp alone it contains
// neither AF_XDP nor HTTP, and is less than half as large.
package all

import (
	_ "gofabric/fabricd"                   // names of the node's daemon, and figures for it
	_ "gofabric/internal/trust/structured" // refusals go to log/slog
	_ "gofabric/provider/tcp"              // connections and reliable datagrams over TCP, local sockets and shared memory
	_ "gofabric/provider/udp"              // datagrams: sockets, AF_XDP and shared memory
	_ "gofabric/util/fault"                // faults of a network, to test programs with
	_ "gofabric/util/rxd"                  // reliable datagrams over a provider of datagrams
	_ "gofabric/util/rxm"                  // reliable datagrams over a provider of connections
	_ "gofabric/util/strict"               // strict mode (FI_STRICT)
)
