package rxm

import (
	"bytes"
	"testing"

	xengine "gofabric/internal/xnet/engine"
	xwire "gofabric/internal/xnet/wire"
)

// taker is the sink of a connection to a native peer, with the methods that packets needs.
type taker struct {
	xengine.Sink
	k    *packets
	took int
	t    *testing.T
}

func (s *taker) Received(r *xengine.RxOp) {
	b := r.Buf()
	if pkt := b[:r.Len()]; !bytes.Equal(pkt, bytes.Repeat([]byte{7}, 1000)) {
		s.t.Errorf("received %d bytes, other data than was sent", len(pkt))
	}
	s.took++
	s.k.put(b)
}

func (s *taker) Completed(c *xengine.Completion)     { s.k.put(c.Buf) }
func (s *taker) Failed(*xengine.Conn, error, []byte) {}
func (s *taker) Connected(*xengine.Conn, []byte)     {}
func (s *taker) Requested(*xengine.Conn, []byte)     {}
func (s *taker) Replied(*xengine.Conn)               {}
func (s *taker) Resumed(*xengine.Conn)               {}
func (s *taker) Sent(*xengine.Send)                  {}

// TestPacketsHalf has many peers leave a message incomplete. Complete messages of another peer arrive nevertheless.
// Buffers are made as they are needed, and freed when they are not.
func TestPacketsHalf(t *testing.T) {
	const peers = 3 * packetsKept
	var pool xengine.Pool
	var k packets
	k.init(&pool, 2000)
	s := &taker{k: &k, t: t}
	h := xwire.Header{Op: xwire.OpMsg}
	h.SetPayload(1000)
	msg := append(h.Append(nil, xwire.Little), bytes.Repeat([]byte{7}, 1000)...)
	var conns []*xengine.Conn
	for range peers {
		c := xengine.NewReady(&pool, &xengine.Config{}, k.rx, nil, s)
		conns = append(conns, c)
		k.grow()
	}
	receive := func(c *xengine.Conn, b []byte) {
		c.Receive(0, b)
		k.refill()
	}
	for range 2 {
		if k.have < packetsFew || k.have > packetsKept {
			t.Fatalf("%d buffers exist for idle peers", k.have)
		}
		s.took = 0
		for i, c := range conns[1:] {
			receive(c, msg[:500])
			receive(conns[0], msg)
			if s.took != i+1 || k.rx.Unexpected() != 0 {
				t.Fatalf("with %d incomplete messages: %d messages have arrived, %d wait for a buffer",
					i+1, s.took, k.rx.Unexpected())
			}
		}
		if k.have < peers || k.have > k.most {
			t.Fatalf("%d buffers for %d incomplete messages", k.have, peers-1)
		}
		for _, c := range conns[1:] {
			receive(c, msg[500:])
		}
		if s.took != 2*(peers-1) {
			t.Fatalf("%d of %d messages", s.took, 2*(peers-1))
		}
	}
	for _, c := range conns[1:] {
		receive(c, msg[:500])
	}
	for _, c := range conns {
		c.Drop(xengine.ErrPeerClose)
		k.shrink()
	}
	if k.have > packetsKept {
		t.Errorf("%d buffers are left after all connections ended", k.have)
	}
	k.rx.Release()
}
