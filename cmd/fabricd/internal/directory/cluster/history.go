package cluster

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// history identifies the history that an answer of etcd belongs to. An etcd that lost its data, or was restored
// from a backup, has another history at the same address. Its watches are silent until it reaches the old revision
// again.
type history struct {
	cluster  uint64
	term     uint64
	revision int64
}

func historyOf(h *pb.ResponseHeader) history {
	return history{cluster: h.ClusterId, term: h.RaftTerm, revision: h.Revision}
}

// goesOn reports whether h can continue old. Both come from reads by a majority, one after the other: revisions and
// election terms only grow.
func (h history) goesOn(old history) bool {
	return h.revision >= old.revision && h.term >= old.term && h.cluster == old.cluster
}
