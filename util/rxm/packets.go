// Receive buffers for native peers. They are shared, so that an endpoint with thousands of peers needs few.

package rxm

import (
	"gofabric/internal/endpoint"
	xengine "gofabric/internal/xnet/engine"
)

// packetsFew is the number of receive buffers when no message is partly received. A partly received message holds
// one buffer. When the last free one is taken, another is made, up to packetsFew and one for each native peer.
// packetsKept is the number of buffers that are kept when these messages are complete.
const (
	packetsFew  = 8
	packetsKept = 128
)

// packets are the receive buffers of connections to native peers: a receive context with buffers of one packet
// each, shared by all peers of the endpoint. It has no buffers until there is a native peer.
type packets struct {
	endpoint.NoConnections
	rx   *xengine.RxContext
	size int
	have int // buffers that exist
	most int // limit of have

	spare   [][]byte // buffers to be posted
	posting bool
}

// unexpectedMax bounds the bytes of packets that are kept because there was no buffer for them. A single peer may
// use a quarter of it.
const unexpectedMax = 4 << 20

func (k *packets) init(pool *xengine.Pool, size int) {
	k.size = size
	k.rx = xengine.NewRxContext(pool, k)
	k.rx.Limit, k.rx.PeerLimit = unexpectedMax, unexpectedMax/4
}

// grow allows for one peer more, shrink for one less.
func (k *packets) grow() {
	k.most = max(k.most, packetsFew) + 1
	for k.have < packetsFew {
		k.add()
	}
}

func (k *packets) shrink() { k.most-- }

// refill is called after every receive. A peer has at most one partly received message, so the next message finds a
// buffer, however many peers leave theirs incomplete.
func (k *packets) refill() {
	if k.have > 0 && k.have < k.most && k.rx.Posted() == 0 {
		k.add()
	}
}

func (k *packets) add() {
	k.have++
	k.put(make([]byte, k.size))
}

// put returns a buffer, and receives a waiting packet into it. It may be called from within that receive.
func (k *packets) put(b []byte) {
	if k.have > k.most || k.have > packetsKept && k.rx.Posted() >= packetsFew {
		k.have--
		return
	}
	k.spare = append(k.spare, b[:k.size])
	if k.posting {
		return
	}
	k.posting = true
	for len(k.spare) > 0 {
		last := len(k.spare) - 1
		b := k.spare[last]
		k.spare[last] = nil
		k.spare = k.spare[:last]
		op := k.rx.NewOp()
		if op == nil { // all receives of the context are posted
			k.have--
			continue
		}
		op.SetBuf(b)
		k.rx.PostMsg(op, xengine.AnySource)
	}
	k.posting = false
}

// Completed, Sent, Received and Replied implement engine.Sink for events without a connection. There are none.
func (k *packets) Completed(*xengine.Completion) {}
func (k *packets) Sent(*xengine.Send)            {}
func (k *packets) Received(*xengine.RxOp)        {}
func (k *packets) Replied(*xengine.Conn)         {}
