// Package gofabric is libfabric's object model (OpenFabrics Interfaces) in pure Go: fabrics, endpoints, completion queues and memory regions
// over ordinary sockets, speaking the wire formats of native libfabric.
package gofabric
