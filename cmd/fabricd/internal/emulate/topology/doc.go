// Package topology reads the description of an emulated fabric: nodes, switches, links with their faults, and a
// schedule of changes. Parse turns YAML into a Topology that is checked and complete, so building it cannot fail on
// its contents. Ready returns the built-in topologies by name.
package topology
