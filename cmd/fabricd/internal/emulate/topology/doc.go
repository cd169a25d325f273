// Package topology reads what fabric is to be emulated: nodes, switches, links with their faults, and what changes when. Parse turns YAML into a Topology
// that is checked and complete, so that who builds it finds no surprise; Ready has the common ones by name.
package topology
