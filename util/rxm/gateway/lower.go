package gateway

import xwire "gofabric/internal/xnet/wire"

// Lower is the connection to the peer below the gateway: one MSG connection, or several (auxiliary connections). It
// must not call the gateway from within its methods.
//
// Operations of one group take effect in order; with a single connection all do. ErrAgain of internal/xnet/engine
// means that there is no room now: nothing was taken, and the driver calls Gateway.Pump when there is. Any other
// error ends the connection.
type Lower interface {
	// Send queues a message: head, which it copies, and payload, at most three slices. It may use the bytes of
	// payload until Gateway.Done(token), but not the list. delivery asks for Done when the peer's provider has
	// acknowledged the message. done says that everything was copied, and Done(token) will not come. Group 0 goes
	// over the main connection, any other over one of the auxiliary ones, where its messages follow each other.
	Send(head []byte, payload [][]byte, delivery bool, group, token uint64) (done bool, err error)
	// Read reads remote memory into local. There are at most four slices and ranges, of equal length altogether. It
	// ends with Gateway.Done(token); local is borrowed until then.
	Read(local [][]byte, remote []xwire.RMAIov, token uint64) error
	// Write writes local to remote memory. Limits are as in Read, done as in Send.
	Write(local [][]byte, remote []xwire.RMAIov, w Write, token uint64) (done bool, err error)
	// Expose lets the peer write or read memory. It fills in ranges, one for each slice, and returns a handle.
	// local is borrowed until Conceal.
	Expose(local [][]byte, write bool, ranges []xwire.RMAIov) (handle uint64, err error)
	// Accessed returns how many bytes of it the peer has accessed so far.
	Accessed(handle uint64) uint64
	// Conceal ends the peer's access.
	Conceal(handle uint64)
}

// Write has the options of a write.
type Write struct {
	Data              uint64 // remote CQ data, with HasData
	HasData, Delivery bool   // Delivery: Done waits for the peer's acknowledgement
}
