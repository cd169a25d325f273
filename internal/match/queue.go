// The queue of an endpoint: posted receives on one side, unexpected messages on the other.

package match

// AnySource is the source of a receive that accepts messages from every peer, and of a message whose sender is not
// in the address vector: FI_ADDR_UNSPEC.
const AnySource = ^uint64(0)

// scanLimit is how many entries of a list are searched before an index is used or built. For fewer, following the
// list is cheaper than hashing.
const scanLimit = 16

// A Queue pairs messages with receives. An endpoint with untagged and tagged messages has two. The zero value is
// ready. It must not be copied after use, and is not safe for concurrent use.
//
// The queue links the caller's own [Recv] and [Msg] objects and holds them until they are matched or removed. Until
// then the caller must not change their Src, Tag and Ignore. To queue an object twice panics.
//
// The two sides are independent: [Queue.Post] does not look at unexpected messages, nor [Queue.Arrive] at posted
// receives. For a new receive a caller uses [Queue.Take] and, if there was no message, Post. For a new message it
// uses [Queue.Match] and, if there was no receive, Arrive.
type Queue[R, M any] struct {
	posted     posted[R]
	unexpected list[Msg[M]]
	views      views[M]
}
