// Package flow carries a reliable byte stream in each direction over datagrams that may be lost, duplicated,
// reordered or delayed. Layer rxd uses it between two gofabric peers. One Flow stands for one peer.
//
// A flow does no I/O and reads no clock. The caller passes the time as nanoseconds of a clock that never goes back.
//
//	Source ──Next──▶ segments in flight ──Poll──▶ datagrams
//	   ▲                    │
//	 Acked ◀── cumulative and selective acknowledgements ◀── Receive ◀── datagrams
//	Sink ◀──Deliver── in order; data behind a hole waits in pages until the hole is filled ◀──┘
//
// # Use
//
// Call Poll until it returns false after every event: Receive, Advance, Resume, PassDone, or new bytes in the
// Source. Then wait until Deadline and call Advance.
//
// # Rules
//
//   - Loss is detected by time, as in RFC 8985 (RACK-TLP): loss.go.
//   - The retransmission time-out is that of RFC 6298 with shorter limits, because the path of a fabric is shorter
//     than the Internet's: path.go, config.go.
//   - The congestion window follows delay and loss: congestion.go.
//   - The size of datagrams follows what the path carries, as in RFC 8899: pathmtu.go.
//   - Selective acknowledgements follow RFC 2018 and never withdraw a block: hold.go.
//
// The format of the datagrams is in docs/wire/rxd.md, "Extension datagram".
//
// # Limits
//
// No input from a peer makes a flow panic, hang, or use more memory than its window and the budget of its Pool
// allow. FuzzReceive tests this.
package flow
