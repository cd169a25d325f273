// Package fabric is a running emulated fabric: nodes, which are network namespaces, and links and switches between
// them in this process.
//
// A node's interface is a TAP device inside its namespace. The frames that the node's kernel sends are read from
// its descriptor here; received frames are written to it. Namespaces have no name and no process: descriptors hold
// them, so nothing remains of a fabric whose process is killed. (Two alternatives were measured, veth pairs with
// packet sockets and with their rings. TAP devices carried the most small frames per second and need no second
// interface.)
//
// One thread does all work on frames. The loop that owns the descriptors calls network, which does no I/O and takes
// the time as an argument. The loop's lock is free while the loop waits; changes and queries take it then.
package fabric
