package rxm

import (
	"gofabric/internal/endpoint"
	xengine "gofabric/internal/xnet/engine"
)

// packetsFew is how many receive buffers there are when no message is half received; each that is holds one, and one more is made when the last was taken, up
// to packetsFew besides one for each native peer. packetsKept is how many are kept when that is over.
const (
	packetsFew  = 8
	packetsKept = 128
)

// packets is what connections to native peers receive into: a receive context with buffers of a packet each, shared by all peers of the endpoint. It holds
// none before there is a native peer.
type packets struct {
	endpoint.NoConnections
	rx   *xengine.RxContext
	size int
	have int // buffers there are
	most int // and may be

	spare   [][]byte // to be posted
	posting bool
}

// unexpectedMax bounds what is kept of packets for which no buffer was there, bytes; a quarter of it for any one peer.
const unexpectedMax = 4 << 20

func (k *packets) init(pool *xengine.Pool, size int) {
	k.size = size
	k.rx = xengine.NewRxContext(pool, k)
	k.rx.Limit, k.rx.PeerLimit = unexpectedMax, unexpectedMax/4
}

// grow is for one peer more, shrink for one less.
func (k *packets) grow() {
	k.most = max(k.most, packetsFew) + 1
	for k.have < packetsFew {
		k.add()
	}
}

func (k *packets) shrink() { k.most-- }

// refill follows everything that was received: a peer has one message half received at most, so that the next one to be received from finds a buffer, however
// many peers leave their messages unfinished.
func (k *packets) refill() {
	if k.have > 0 && k.have < k.most && k.rx.Posted() == 0 {
		k.add()
	}
}

func (k *packets) add() {
	k.have++
	k.put(make([]byte, k.size))
}

// put takes a buffer back, and receives into it what waits for one. It may be called from within that.
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
		if op == nil { // as many as there can be
			k.have--
			continue
		}
		op.SetBuf(b)
		k.rx.PostMsg(op, xengine.AnySource)
	}
	k.posting = false
}

// Completed, Sent, Received and Replied implement engine.Sink for what concerns no connection: nothing does.
func (k *packets) Completed(*xengine.Completion) {}
func (k *packets) Sent(*xengine.Send)            {}
func (k *packets) Received(*xengine.RxOp)        {}
func (k *packets) Replied(*xengine.Conn)         {}
