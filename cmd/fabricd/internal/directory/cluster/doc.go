// Package cluster is the directory of many nodes: the same as one node's, kept in an etcd cluster, which does the agreeing. Every change is a transaction on the revision that
// was looked at. One watch of everything feeds this node's watchers, and tells how much each user has; limits are judged by that, a moment late.
//
// Below a prefix, names/, values/ and fences/ hold entries as JSON. An entry's lease is etcd's; its id says in the upper 32 bits, below the sign, which user made it, so
// that nobody else renews it. The key "deleted" names what a transaction deleted, so that this can be told from the end of a lease.
package cluster
