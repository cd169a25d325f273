// This file tests violations of the protocol. Each ends the connection with ErrProtocol, and each operation on it
// once.

package engine

import (
	"testing"

	"gofabric/internal/xnet/wire"
)

func TestViolations(t *testing.T) {
	ack := header(wire.Header{Op: wire.OpMsg, OpData: wire.OpDataAck}, 0)
	rts := wire.Header{Op: wire.OpTagRTS, OpData: 7, Tag: 4, MsgSize: 100}
	with := func(b []byte, i int, v byte) []byte {
		b = append([]byte(nil), b...)
		b[i] = v
		return b
	}
	msg := header(wire.Header{Op: wire.OpMsg}, 10)
	for name, b := range map[string][]byte{
		"ack":                    ack,
		"ack with payload":       with(ack, 8, 17),
		"cts":                    header(wire.Header{Op: wire.OpCTS, OpData: 1}, 0),
		"cts 0":                  header(wire.Header{Op: wire.OpCTS}, 0),
		"cts 255":                header(wire.Header{Op: wire.OpCTS, OpData: 255}, 0),
		"data":                   header(wire.Header{Op: wire.OpData, OpData: 1}, 5),
		"read_rsp":               header(wire.Header{Op: wire.OpReadRsp}, 5),
		"version":                with(msg, 0, 2),
		"op":                     with(msg, 1, 8),
		"header length":          with(msg, 6, 17),
		"header length, rts":     with(header(rts, 0), 6, 16),
		"size below header":      with(msg, 8, 15),
		"size beyond reason":     with(msg, 15, 0xff),
		"five segments":          with(header(wire.Header{Op: wire.OpReadReq, IovCnt: 1}, 0), 5, 5),
		"write without segments": header(wire.Header{Op: wire.OpWrite}, 4),
		"write, wrong sum":       header(wire.Header{Op: wire.OpWrite, IovCnt: 1, IOV: segs(wire.RMAIov{Len: 3})}, 4),
		"rts twice":              append(header(rts, 0), header(rts, 0)...),
		"data of unmatched rts":  append(header(rts, 0), header(wire.Header{Op: wire.OpData, OpData: 7}, 100)...),
		"http":                   []byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		for _, cut := range []int{1, 1000} {
			s := connected(t)
			s.b.send(Send{Kind: KindWrite, Ctx: 1, NRMA: 1}, nil)
			s.b.recv(2, AnySource, make([]byte, 5))
			for i := 0; i < len(b); i += cut {
				s.b.inject(b[i:min(len(b), i+cut)])
			}
			if len(s.b.events) == 0 {
				t.Fatalf("%s: taken", name)
			}
			if name == "http" && s.b.events[0] == "write 1: the peer violated the protocol" {
				s.b.want("write 1: the peer violated the protocol", `failed "": the peer violated the protocol`)
			} else {
				s.b.want("write 1: the peer violated the protocol", `failed "": the peer violated the protocol`)
			}
			s.b.checkUnexpected(0)
		}
	}
}

// TestWrongAnswers sends answers of the wrong size, and answers to another request.
func TestWrongAnswers(t *testing.T) {
	for name, f := range map[string]func(s *script) string{
		"read_rsp too long": func(s *script) string {
			s.b.send(Send{Kind: KindRead, Ctx: 1, NRMA: 1, RMA: segs(wire.RMAIov{Len: 9})}, make([]byte, 9))
			s.b.inject(header(wire.Header{Op: wire.OpReadRsp}, 10))
			return "read 1"
		},
		"second read_rsp": func(s *script) string {
			s.b.send(Send{Kind: KindRead, Ctx: 1, NRMA: 1, RMA: segs(wire.RMAIov{Len: 1})}, make([]byte, 1))
			s.b.inject(append(header(wire.Header{Op: wire.OpReadRsp}, 1), 'x'))
			s.b.want("read 1 len 1")
			s.b.inject(append(header(wire.Header{Op: wire.OpReadRsp}, 1), 'x'))
			return ""
		},
		"ack too early": func(s *script) string {
			s.b.send(Send{Ctx: 1, Ack: true}, []byte("x"))
			s.b.inject(header(wire.Header{Op: wire.OpMsg, OpData: wire.OpDataAck}, 0))
			return "send 1"
		},
		"data of another size": func(s *script) string {
			s.b.trecv(1, 2, 4, 0, make([]byte, 200))
			s.b.inject(header(wire.Header{Op: wire.OpTagRTS, OpData: 7, Tag: 4, MsgSize: 100}, 0))
			s.b.inject(header(wire.Header{Op: wire.OpData, OpData: 7}, 101))
			return "recv 1 tag 4"
		},
		"data twice": func(s *script) string {
			s.b.trecv(1, 2, 4, 0, make([]byte, 200))
			s.b.inject(header(wire.Header{Op: wire.OpTagRTS, OpData: 7, Tag: 4, MsgSize: 1}, 0))
			s.b.inject(append(header(wire.Header{Op: wire.OpData, OpData: 7}, 1), 'x'))
			s.b.want("recv 1 len 1 tag 4 src 2")
			s.b.inject(append(header(wire.Header{Op: wire.OpData, OpData: 7}, 1), 'x'))
			return ""
		},
		"cts twice": func(s *script) string {
			s.b.c.Rendezvous, s.b.cfg.RendezvousOver = true, 0
			s.b.send(Send{Ctx: 1, Tagged: true, Ack: true}, make([]byte, 1000))
			cts := header(wire.Header{Op: wire.OpCTS, OpData: 1}, 0)
			s.b.inject(append(cts, cts...))
			return "send 1"
		},
	} {
		s := connected(t)
		if left := f(s); left != "" {
			if len(s.b.events) == 0 {
				t.Fatalf("%s: taken", name)
			}
			s.b.want(left + ": the peer violated the protocol")
		}
		s.b.want(`failed "": the peer violated the protocol`)
	}
}

// TestHugeMessage checks that a message of an impossible size takes no memory before its payload comes.
func TestHugeMessage(t *testing.T) {
	s := connected(t)
	s.b.inject(header(wire.Header{Op: wire.OpMsg}, wire.MaxSize/2))
	s.b.inject(header(wire.Header{Op: wire.OpTag}, 0)[:1])
	if got := s.b.rx.UnexpectedBytes(); got > 300<<10 {
		t.Errorf("%d bytes were allocated for one that was received", got)
	}
	s.b.recv(1, 2, make([]byte, 10))
	s.b.c.Fail(ErrPeerClose)
	s.b.want("recv 1: the connection ended without a closing message", `failed "": the connection ended without a closing message`)
}
