package engine

import xwire "gofabric/internal/xnet/wire"

// Lower is the connection below: one MSG connection to the peer, or several. It must not call the gateway from within its methods. Operations of one group
// take effect in order; so do all with one connection. ErrAgain of internal/xnet/engine says that there is no room now: nothing was taken, and Gateway.Pump is to be called when there is.
// Any other error ends the connection.
type Lower interface {
	// Send queues a message: head, which is copied, and payload, at most three parts. The bytes of payload are lent until Gateway.Done(token), the list is not.
	// delivery asks for Done when the peer's provider has acknowledged the message. done says that all was copied, and Done(token) will not come.
	// Group 0 goes over the first connection, any other over one of the others; the messages of a group follow each other.
	Send(head []byte, payload [][]byte, delivery bool, group, token uint64) (done bool, err error)
	// Read fetches remote memory; at most four parts and ranges, equally long altogether. It ends with Gateway.Done(token). local is lent until then.
	Read(local [][]byte, remote []xwire.RMAIov, token uint64) error
	// Write sends local to remote memory; as Read, and done as in Send.
	Write(local [][]byte, remote []xwire.RMAIov, w Write, token uint64) (done bool, err error)
	// Expose lets the peer access memory, to write it or to read it. It fills in ranges, one per part, and returns a handle. local is lent until Conceal.
	Expose(local [][]byte, write bool, ranges []xwire.RMAIov) (handle uint64, err error)
	// Accessed is how many bytes of it the peer has accessed so far.
	Accessed(handle uint64) uint64
	// Conceal ends that.
	Conceal(handle uint64)
}

// Write says how to write.
type Write struct {
	Data              uint64 // remote CQ data
	HasData, Delivery bool
}
