// Package cluster is the directory of many nodes. It offers the same as one node's directory, but keeps it in an
// etcd cluster, which provides the consensus. Every change is a transaction on the revision that was read. One
// watch of everything feeds this node's watchers and counts the entries of each user; limits are checked against
// these counts, which are a moment late.
//
// Below a prefix, names/, values/ and fences/ hold entries as JSON. An entry's lease is etcd's. The upper 32 bits
// of its id, below the sign, name the user that made it, so that no other user renews it. The key "deleted" names
// the entries that a transaction deleted, which distinguishes a deletion from the end of a lease.
package cluster
