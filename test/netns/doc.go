// Package netns tests between two network namespaces that a veth pair connects: links that go down, dead and half-dead
// peers, black holes, IPv6, the choice of interfaces. In each namespace runs a process, the test's program started
// again. It holds an endpoint and executes the test's commands.
//
// It needs root and ip(8). Without them its tests are skipped, or fail if GOFABRIC_PEERS is "required".
package netns
