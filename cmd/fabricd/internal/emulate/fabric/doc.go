// Package fabric is an emulated fabric that runs: nodes, which are network namespaces, and between them links and switches in this process.
//
// A node's interface is a TAP device inside its namespace; the frames that the node's kernel sends are read from its descriptor here, and what arrives is
// written to it. Namespaces have no name and no process: descriptors hold them, so that nothing is left of a fabric whose process is killed. (Beside two
// other ways, veth cables with packet sockets and with their rings, TAP devices carried the most small frames per second and need no second interface.)
//
// One thread does everything that happens to frames: network, which does no I/O and takes the time as an argument, is called by the loop that owns the
// descriptors. Its lock is free while the loop waits; changes and questions take it then.
package fabric
