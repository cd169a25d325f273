package cluster

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// history is what etcd's answers say of the history that they are from. An etcd that lost its data, or was given those of a backup, tells another one under the
// same address, and its watches are silent until the old revision is reached again.
type history struct {
	cluster  uint64
	term     uint64
	revision int64
}

func historyOf(h *pb.ResponseHeader) history {
	return history{cluster: h.ClusterId, term: h.RaftTerm, revision: h.Revision}
}

// goesOn reports whether h can be what old has become. Both are of reads by a majority, one after the other: revisions and terms of elections grow only.
func (h history) goesOn(old history) bool {
	return h.revision >= old.revision && h.term >= old.term && h.cluster == old.cluster
}
