// Package flow carries a reliable byte stream in both directions over datagrams that may be lost, duplicated, reordered and delayed: what rxd uses between
// two gofabric peers. One Flow is one peer. It does no I/O and reads no clock: times are nanoseconds of a clock that never goes back, given by the caller.
//
//	Source ──Next──▶ segments in flight ──Poll──▶ datagrams
//	   ▲                    │
//	 Acked ◀── cumulative and selective acknowledgements ◀── Receive ◀── datagrams
//	Sink ◀──Deliver── in order, or out of the pages that hold what came after a hole ◀──┘
//
// Use: after anything that changed the flow (Receive, Advance, Resume, Quiet, bytes added to the Source) call Poll until it returns false, then wait until
// Deadline. Loss is detected by time as in RFC 8985 (RACK-TLP), the retransmission time-out is that of RFC 6298 with finer limits, and the window follows
// delay and loss (control.go).
//
// Nothing a peer sends makes a flow panic, hang or grow beyond its window and the budget of its Pool.
package flow
