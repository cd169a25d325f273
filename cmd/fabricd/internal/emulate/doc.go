// Package emulate is the daemon's emulated fabric: the nodes, links and switches of a topology, which run while the
// daemon does, and the API routes to inspect it, inject faults, capture frames, and run programs in its nodes.
package emulate
