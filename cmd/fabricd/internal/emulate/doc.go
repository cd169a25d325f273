// Package emulate is the daemon's emulated fabric: nodes, links and switches of a topology that run while the daemon does, and the routes by which people
// look at it, break it, capture it and run programs in its nodes.
package emulate
