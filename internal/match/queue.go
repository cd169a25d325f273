// The queue of an endpoint: posted receives on one side, unexpected messages on the other.

package match

// AnySource is the source of a receive that takes messages from every peer, and of a message whose sender is not known: FI_ADDR_UNSPEC.
const AnySource = ^uint64(0)

// scanLimit is how far a queue is searched before an index is asked or built. Up to here following the list is cheaper than hashing.
const scanLimit = 16

// A Queue pairs messages with receives. An endpoint that has both plain and tagged messages owns two. The zero value is ready; it must not be
// copied once used. It has no lock: one goroutine at a time.
//
// The queue links the caller's own [Recv] and [Msg] objects, and holds them until they are matched or removed; meanwhile the caller must not
// change their Src, Tag and Ignore. Queueing an object that is queued already panics.
//
// The two sides are independent: [Queue.Post] does not look at unexpected messages nor [Queue.Arrive] at posted receives. The usual order is, for
// a new receive, [Queue.Take] and, if nothing was there, Post; for a new message, [Queue.Match] and, if nobody wants it, Arrive.
type Queue[R, M any] struct {
	posted     posted[R]
	unexpected list[Msg[M]]
	views      views[M]
}
