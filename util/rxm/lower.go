// The gateway's operations on its connections: sends, reads and writes, and memory that it exposes to the peer.

package rxm

import (
	"math/rand/v2"

	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
	"gofabric/util/rxm/gateway"
	"gofabric/util/rxm/wire"
)

var _ gateway.Lower = (*native)(nil)

// slot is a posted operation of a connection.
type slot struct {
	token uint64
	used  bool
	head  [wire.MaxHeader]byte // of a message that is not copied whole
}

// slots are the posted operations of all connections.
type slots struct {
	all  []*slot
	free []uint32
}

func (s *slots) take(token uint64) (uint64, *slot) {
	var i uint32
	if n := len(s.free); n > 0 {
		i = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		i = uint32(len(s.all))
		s.all = append(s.all, &slot{})
	}
	e := s.all[i]
	e.token, e.used = token, true
	return uint64(i), e
}

func (s *slots) end(i uint64) (token uint64, ok bool) {
	if i >= uint64(len(s.all)) || !s.all[i].used {
		return 0, false
	}
	s.all[i].used = false
	s.free = append(s.free, uint32(i))
	return s.all[i].token, true
}

// pick returns the connection for the next operation that may overtake others.
func (n *native) pick() *nativeConn {
	if l := n.p.Pick(); l != nil {
		if s, ok := l.User.(*nativeConn); ok {
			return s
		}
	}
	return n.conns[0]
}

// pin is pick for an operation of a group, all of which uses one connection. There is one group at a time.
func (n *native) pin(group uint64) *nativeConn {
	if group == 0 {
		return n.conns[0]
	}
	if group != n.group {
		n.group, n.pinned = group, n.pick()
	}
	return n.pinned
}

// submit posts o to a connection. done reports that all of it was copied.
func (n *native) submit(s *nativeConn, o *xengine.Send, token uint64) (done bool, err error) {
	i, e := n.slots.take(token)
	o.Ctx = i
	if o.Kind == xengine.KindSend {
		o.IOV[0] = e.head[:copy(e.head[:], o.IOV[0])]
	}
	n.copied = false
	if err := s.conn.Submit(o); err != nil {
		n.slots.end(i)
		return false, err
	}
	if n.copied {
		n.copied = false
		n.slots.end(i)
		return true, nil
	}
	return false, nil
}

// Send implements engine.Lower.
func (n *native) Send(head []byte, payload [][]byte, delivery bool, group, token uint64) (bool, error) {
	o := &n.ep.d.send
	*o = xengine.Send{Kind: xengine.KindSend, Ack: delivery, NIOV: 1 + len(payload)}
	o.IOV[0] = head
	copy(o.IOV[1:], payload)
	return n.submit(n.pin(group), o, token)
}

// Read implements engine.Lower.
func (n *native) Read(local [][]byte, remote []xwire.RMAIov, token uint64) error {
	o := &n.ep.d.send
	*o = xengine.Send{Kind: xengine.KindRead, NIOV: len(local), NRMA: len(remote)}
	copy(o.IOV[:], local)
	copy(o.RMA[:], remote)
	_, err := n.submit(n.pick(), o, token)
	return err
}

// Write implements engine.Lower.
func (n *native) Write(local [][]byte, remote []xwire.RMAIov, w gateway.Write, token uint64) (bool, error) {
	o := &n.ep.d.send
	*o = xengine.Send{Kind: xengine.KindWrite, NIOV: len(local), NRMA: len(remote), Ack: w.Delivery, HasData: w.HasData, Data: w.Data}
	copy(o.IOV[:], local)
	copy(o.RMA[:], remote)
	return n.submit(n.pick(), o, token)
}

// lending is memory that the peer may access.
type lending struct {
	b     []byte
	write bool
	next  uint64      // key of the next part of the same handle, 0 if this is the last
	seen  *lentRegion // of all parts
}

// Expose implements engine.Lower. Each part has an unpredictable key of its own. The first key is the handle.
func (n *native) Expose(local [][]byte, write bool, ranges []xwire.RMAIov) (uint64, error) {
	if n.lent == nil {
		n.lent = map[uint64]lending{}
	}
	next, seen := uint64(0), &lentRegion{n: n}
	for i := len(local) - 1; i >= 0; i-- {
		key := rand.Uint64() | 1 // the top-level functions of math/rand/v2 cannot be predicted
		n.lent[key] = lending{local[i], write, next, seen}
		ranges[i] = xwire.RMAIov{Addr: 0, Len: uint64(len(local[i])), Key: key}
		next = key
	}
	return next, nil
}

// Accessed implements engine.Lower.
func (n *native) Accessed(handle uint64) uint64 {
	if l, ok := n.lent[handle]; ok {
		return l.seen.bytes
	}
	return 0
}

// Conceal implements engine.Lower.
func (n *native) Conceal(handle uint64) {
	for key := handle; key != 0; {
		l := n.lent[key]
		delete(n.lent, key)
		for _, s := range n.conns {
			s.conn.Forget(key)
		}
		key = l.next
	}
}
