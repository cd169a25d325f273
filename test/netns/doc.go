// Package netns holds tests between two network namespaces that a veth pair connects: unplugged links, dead and half-dead peers, black holes, IPv6, the
// choice of interfaces. In each namespace runs a process, the test binary started again, that holds an endpoint and does what the test tells it.
//
// It needs root and ip(8). Without them its tests are skipped, or fail if GOFABRIC_PEERS is "required".
package netns
