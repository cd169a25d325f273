// Scripts: the test plays a native peer, packet by packet.

package session

import (
	"fmt"
	"strings"
	"testing"

	xengine "gofabric/internal/xnet/engine"
	"gofabric/util/rxd/wire"
)

// player is the native peer of a script, at address 2.
type player struct {
	t     *testing.T
	n     *world
	d     *node    // the engine
	index uint32   // the engine's index of the player
	mine  uint32   // the player's index of the engine
	sent  []string // transmitted packets that want has not compared yet
}

// theirs is the player's first index of the engine.
const theirs = 3

func play(t *testing.T) *player {
	n := newWorld(t, 1)
	return &player{t: t, n: n, d: n.add(1, nativeOnly), mine: theirs}
}

// poll collects the packets that the engine transmits, one line per packet.
func (p *player) poll() {
	for p.d.e.Poll(p.n.Now, &p.d.out) {
		b := append([]byte(nil), p.d.out.Head...)
		for _, part := range p.d.out.Parts {
			b = append(b, part...)
		}
		var op wire.Op
		var data wire.Data
		var ack wire.Ack
		var rts wire.RTS
		var cts wire.CTS
		if _, err := rts.Parse(b); err == nil {
			p.index = uint32(rts.RTSAddr)
			p.sent = append(p.sent, "rts")
		} else if _, err := cts.Parse(b); err == nil {
			p.index = uint32(cts.CTSAddr)
			p.sent = append(p.sent, fmt.Sprintf("cts %d", cts.RTSAddr))
		} else if ack.Parse(b) == nil {
			p.sent = append(p.sent, fmt.Sprintf("ack %d window %d", ack.Seq, ack.Window))
			b = b[:0]
		} else if payload, err := data.Parse(b); err == nil {
			p.sent = append(p.sent, fmt.Sprintf("%s %d seg %d len %d", data.Type, data.Seq, data.SegNo, len(payload)))
		} else if payload, err := op.Parse(b); err == nil {
			p.sent = append(p.sent, fmt.Sprintf("%s %d len %d", op.Type, op.Seq, len(payload)))
		} else {
			p.t.Fatalf("%x", b)
		}
		if len(b) >= wire.BaseLen && wire.Type(b[1]) < wire.TypeRTS && le.Uint32(b[4:]) != p.mine {
			p.t.Fatalf("index %d", le.Uint32(b[4:]))
		}
	}
}

// want compares the packets that were transmitted.
func (p *player) want(lines ...string) {
	p.t.Helper()
	p.poll()
	if got, want := strings.Join(p.sent, "; "), strings.Join(lines, "; "); got != want {
		p.t.Fatalf("got  %s\nwant %s", got, want)
	}
	p.sent = nil
}

// discard ignores the packets that were transmitted.
func (p *player) discard() {
	p.poll()
	p.sent = nil
}

func (p *player) bring(b []byte) { p.d.e.Receive(p.n.Now, at(2), b) }

func (p *player) rts() { p.bring((&wire.RTS{RTSAddr: uint64(p.mine), Source: at(2)}).Append(nil)) }
func (p *player) cts(index uint64) {
	p.bring((&wire.CTS{RTSAddr: uint64(p.index), CTSAddr: index}).Append(nil))
}
func (p *player) ack(seq uint64, window uint16) {
	p.bring((&wire.Ack{Base: wire.Base{Type: wire.TypeAck, Peer: p.index, Seq: seq}, Window: window}).Append(nil))
}
func (p *player) msg(seq uint64, payload string) {
	o := wire.Op{Base: wire.Base{Type: wire.TypeMsg, Flags: wire.FlagInline, Peer: p.index, Seq: seq}}
	p.bring(append(o.Append(nil), payload...))
}

// long begins a message of size bytes in segs packets.
func (p *player) long(seq, size, segs uint64, payload string) {
	o := wire.Op{Base: wire.Base{Type: wire.TypeMsg, Peer: p.index, Seq: seq}, SAR: wire.SAR{Size: size, NumSegs: segs, TxID: 1}}
	p.bring(append(o.Append(nil), payload...))
}
func (p *player) data(t wire.Type, seq, seg uint64, tx uint32, payload string) {
	d := wire.Data{Base: wire.Base{Type: t, Peer: p.index, Seq: seq}, TxID: tx, SegNo: seg}
	p.bring(append(d.Append(nil), payload...))
}
func (p *player) rma(t wire.Type, seq, key, n uint64) {
	o := wire.Op{Base: wire.Base{Type: t, Peer: p.index, Seq: seq}, NRMA: 1, SAR: wire.SAR{Size: n, NumSegs: 1, TxID: 9}}
	o.RMA[0] = wire.RMAIov{Len: n, Key: key}
	b := o.Append(nil)
	if t == wire.TypeWrite {
		b = append(b, make([]byte, n)...)
	}
	p.bring(b)
}

// after lets d pass.
func (p *player) after(d int64) {
	p.n.Now += d
	p.d.e.Advance(p.n.Now)
}

// connectToUs makes the player a connected peer that sent RTS first.
func (p *player) connectToUs() {
	p.rts()
	p.want("cts 3")
}

// connectFromUs makes the player a connected peer to which the engine sent RTS first.
func (p *player) connectFromUs() *Peer {
	q := p.d.e.Peer(at(2), 7, p.n.Now)
	p.want("rts")
	p.cts(theirs)
	p.answerProbe(0)
	return q
}

// answerProbe answers the question that precedes the first packet: which sequence number the player expects.
func (p *player) answerProbe(seq uint64) {
	p.t.Helper()
	p.want("data 9223372036854775808 seg 0 len 0")
	p.ack(seq, 128)
}

func (p *player) post(s *xengine.Send) {
	q := p.d.e.Peer(at(2), 7, p.n.Now)
	if err := q.Conn().Submit(s); err != nil {
		p.t.Fatal(err)
	}
	p.d.e.Posted(q)
}

func TestScriptReceive(t *testing.T) {
	p := play(t)
	p.connectToUs()
	for i := range 4 {
		p.d.recv(make([]byte, 10), uint64(i))
	}
	p.msg(1, "early")
	if p.want(); p.d.e.Len() != 0 { // the first packet creates the peer
		t.Fatal("the peer exists before its first packet")
	}
	p.msg(0, "one")
	p.want("ack 1 window 128")
	p.msg(0, "one")
	p.want("ack 1 window 128")
	p.msg(2, "three")
	p.want("ack 1 window 128")
	p.long(1, 8, 3, "two")
	p.want("ack 2 window 128")
	p.data(wire.TypeData, 2, 0, 1, "2b")
	p.data(wire.TypeData, 3, 1, 1, "toolong") // too long: dropped
	p.data(wire.TypeData, 3, 0, 1, "2cc")
	p.msg(3, "x")
	p.want()
	p.data(wire.TypeData, 3, 1, 1, "2cc")
	p.want("ack 4 window 128")
	p.data(wire.TypeDataRead, 4, 0, 1, "never asked for")
	p.data(wire.TypeData, 4, 0, 1, "of nothing")
	p.want()
	if p.d.count(xengine.KindRecv) != 2 || string(p.d.done[1].Buf[:8]) != "two2b2cc" || p.d.e.Stats.Malformed != 5 {
		t.Errorf("%+v %+v", p.d.done, p.d.e.Stats)
	}
	wrong := p.index
	p.index++
	p.msg(4, "wrong index")
	p.ack(0, 1)
	p.index = wrong
	p.want()
	if p.d.e.Stats.Unknown != 3 {
		t.Errorf("%+v", p.d.e.Stats)
	}
	p.msg(4, "on")
	p.want("ack 5 window 128")
}

func TestScriptSend(t *testing.T) {
	p := play(t)
	p.post(msg(1, []byte("one")))
	p.want("rts")
	p.after(2 * ms)
	p.want("rts")
	p.cts(theirs)
	p.answerProbe(0)
	p.want("msg 0 len 3")
	p.cts(theirs) // the answer to the other RTS
	p.ack(1, 128)
	p.post(msg(2, pattern(1424+1440+10, 1)))
	p.want("msg 1 len 1432", "data 2 seg 0 len 1440", "data 3 seg 1 len 2")
	if p.ack(1, 2); p.d.count(xengine.KindSend) != 1 {
		t.Error(p.d.done)
	}
	p.post(msg(3, []byte("three")))
	p.want() // the window is full
	p.after(2 * ms)
	p.want("msg 1 len 1432", "data 2 seg 0 len 1440", "data 3 seg 1 len 2")
	p.ack(3, 2)
	p.want("msg 4 len 5")
	p.ack(4, 128)
	for range 5 {
		p.post(msg(4, []byte("more")))
	}
	p.want("msg 5 len 4", "msg 6 len 4", "msg 7 len 4", "msg 8 len 4", "msg 9 len 4")
	p.ack(5, 128)
	p.ack(5, 128)
	p.ack(5, 128)
	p.want()
	p.ack(5, 128) // the third ack with this number
	p.want("msg 5 len 4", "msg 6 len 4", "msg 7 len 4", "msg 8 len 4", "msg 9 len 4")
	p.ack(10, 128)
	if p.want(); p.d.e.Deadline() != 0 && p.d.e.Lookup(at(2)).deadline() != 0 {
		t.Error("a deadline is set though no work is left")
	}
	if p.d.count(xengine.KindSend) != 8 {
		t.Error(p.d.done)
	}
}

// TestScriptWindowZero has a peer that takes no data for some time. It is probed, and continues.
func TestScriptWindowZero(t *testing.T) {
	p := play(t)
	p.connectFromUs()
	p.post(msg(1, []byte("one")))
	p.want("msg 0 len 3")
	for range 10 {
		p.ack(0, 0)
	}
	p.want()
	p.after(2 * ms)
	p.want("msg 0 len 3")
	p.ack(1, 0)
	p.post(msg(1, []byte("two")))
	p.want("msg 1 len 3") // native would wait forever
	p.post(msg(1, []byte("three")))
	p.want()
	p.ack(2, 128)
	p.want("msg 2 len 5")
}

// TestScriptReads checks that reads and atomic operations of both ends are answered in order.
func TestScriptReads(t *testing.T) {
	p := play(t)
	p.connectFromUs()
	a, b := make([]byte, 1500), make([]byte, 5)
	p.post(rma(xengine.KindRead, 1, a, 0))
	p.post(rma(xengine.KindRead, 2, b, 0))
	p.want("read_req 0 len 0") // the ack of the first packet shows which process the peer knows at our address
	p.ack(1, 128)
	p.want("read_req 1 len 0")
	p.data(wire.TypeDataRead, 0, 0, 2, "12345") // the second before the first
	p.data(wire.TypeDataRead, 0, 1, 1, "12345")
	p.want()
	p.data(wire.TypeDataRead, 0, 0, 1, string(pattern(1440, 1)))
	p.want()
	p.msg(1, "between") // not allowed within an answer
	p.want()
	p.data(wire.TypeDataRead, 1, 1, 1, string(make([]byte, 60)))
	p.data(wire.TypeDataRead, 2, 0, 2, "12345")
	p.ack(2, 128)
	p.want("ack 3 window 128")
	if p.d.count(xengine.KindRead) != 2 || string(b) != "12345" || a[1439] != pattern(1440, 1)[1439] {
		t.Error(p.d.done)
	}
	p.rma(wire.TypeReadReq, 3, 1, 2000)
	p.want("ack 4 window 128", "data_read 2 seg 0 len 1440", "data_read 3 seg 1 len 560")
	p.rma(wire.TypeReadReq, 4, 1, 0) // native never answers a read of no bytes
	p.want("ack 5 window 128", "data_read 4 seg 0 len 0")
}

// TestScriptRefusal checks that an operation on invalid memory is refused, and that other operations are not
// affected.
func TestScriptRefusal(t *testing.T) {
	p := play(t)
	p.connectToUs()
	p.rma(wire.TypeWrite, 0, 5, 10)
	p.want("ack 0 window 0")
	p.post(msg(1, []byte("one")))
	p.want("msg 0 len 3")
	p.rma(wire.TypeReadReq, 0, 5, 10)
	p.want("ack 0 window 0")
	p.rma(wire.TypeWrite, 0, 1, 10)
	p.want("ack 1 window 128")

	p.ack(1, 128) // the peer refuses an operation of the engine
	p.post(rma(xengine.KindWrite, 2, []byte("two"), 0))
	p.post(msg(3, []byte("three")))
	for range 20 {
		p.discard()
		p.ack(1, 0)
		p.after(200 * ms)
	}
	if errs := p.d.errs(); len(errs) != 1 || errs[0] != xengine.ErrAccess || len(p.d.failed) != 1 {
		t.Fatal(errs, p.d.failed)
	}
	// The engine contacts the peer again and continues its numbers. The peer says which packets have arrived.
	p.discard()
	p.post(msg(4, []byte("four")))
	p.want("rts")
	p.cts(theirs)
	p.want("data 9223372036854775808 seg 0 len 0")
	p.after(5 * ms)
	p.want("data 9223372036854775808 seg 0 len 0")
	p.ack(2, 128)
	p.want("msg 2 len 4")
	p.d.recv(make([]byte, 10), 1)
	p.msg(1, "in its order")
	p.want("ack 2 window 128")
	p.ack(3, 128)
}

// TestScriptStall checks that a peer whose messages find no receive is delayed, and that nothing is lost.
func TestScriptStall(t *testing.T) {
	p := play(t)
	p.d.rx.Limit, p.d.rx.PeerLimit = 2000, 2000
	p.connectToUs()
	seq := uint64(0)
	for ; seq < 100; seq++ {
		p.msg(seq, "a message without a receive")
		p.poll()
		if strings.HasSuffix(p.sent[len(p.sent)-1], "window 1") {
			break
		}
	}
	if seq < 3 || seq == 100 {
		t.Fatalf("stalled after %d", seq)
	}
	p.sent = nil
	stalled := p.d.e.Lookup(at(2)).nat.expect
	p.msg(stalled, "again")
	p.want(fmt.Sprintf("ack %d window 1", stalled-1)) // the last packet is not received yet
	for i := range 3 {
		p.d.recv(make([]byte, 100), uint64(i))
	}
	p.want(fmt.Sprintf("ack %d window 128", stalled))
	p.msg(stalled, "again")
	p.want(fmt.Sprintf("ack %d window 128", stalled+1))
	p.d.close()
}

// TestScriptRestart replaces a native process at its address, or only delivers an old RTS late.
func TestScriptRestart(t *testing.T) {
	for _, restarts := range []bool{true, false} {
		p := play(t)
		p.connectToUs()
		for i := range 4 {
			p.d.recv(make([]byte, 10), uint64(i))
		}
		p.msg(0, "one")
		p.msg(1, "two")
		p.discard()
		old := p.index
		p.rts()
		p.want("cts 3")
		if p.index == old {
			t.Error("the engine used the same index again")
		}
		if restarts {
			p.msg(0, "new one")
			p.want("ack 1 window 128")
		} else {
			for range repeatsForProof {
				p.want()
				p.msg(2, "three")
			}
			p.want("ack 3 window 128")
			p.index = old // the RTS is repeated unchanged
			p.msg(2, "three")
			p.want("ack 3 window 128")
		}
		if p.d.count(xengine.KindRecv) != 3 || len(p.d.failed) != map[bool]int{true: 1}[restarts] {
			t.Error(restarts, p.d.done, p.d.failed)
		}
	}
}

// TestScriptNewAtKnownAddress has an engine that is new at an address whose previous process the peer still knows.
// The peer may have received one packet of it only.
func TestScriptNewAtKnownAddress(t *testing.T) {
	for _, seq := range []uint64{1, 70} {
		p := play(t)
		p.post(msg(1, []byte("one")))
		p.want("rts")
		p.cts(theirs)
		p.answerProbe(seq)
		p.want(fmt.Sprintf("msg %d len 3", seq))
		p.ack(seq+1, 128)
		p.d.recv(make([]byte, 10), 1)
		p.msg(30, "first")
		p.want("ack 0 window 128")
		p.msg(30, "first")
		p.want("ack 31 window 128")
		if p.d.count(xengine.KindSend) != 1 || p.d.count(xengine.KindRecv) != 1 {
			t.Error(p.d.done)
		}
	}
}

// TestScriptJump is the same with a peer that does not answer packets that come too early.
func TestScriptJump(t *testing.T) {
	p := play(t)
	p.post(msg(1, []byte("one")))
	p.want("rts")
	p.cts(theirs)
	for range probesOfNewPeer {
		p.want("data 9223372036854775808 seg 0 len 0")
		p.after(second)
	}
	p.post(msg(1, []byte("two")))
	for range 98 {
		p.post(msg(1, []byte("more")))
	}
	p.want("msg 0 len 3") // not more: the answer could seem to acknowledge them
	p.ack(70, 128)
	p.poll()
	if len(p.sent) != 100 || p.sent[0] != "msg 70 len 3" || p.sent[99] != "msg 169 len 4" {
		t.Fatal(p.sent)
	}
	p.sent = nil
	p.ack(170, 128)
	p.ack(190, 128) // but once only
	p.post(msg(1, []byte("three")))
	p.want("msg 170 len 5")
	for i := range 4 {
		p.d.recv(make([]byte, 10), uint64(i))
	}
	p.msg(31, "overtakes")
	p.want("ack 0 window 128")
	p.msg(30, "first")
	p.want("ack 0 window 128")
	p.msg(30, "first")
	p.msg(31, "second")
	p.want("ack 32 window 128")
	if p.d.count(xengine.KindSend) != 101 || p.d.count(xengine.KindRecv) != 2 {
		t.Error(p.d.done)
	}
}

// TestScriptJumpReceive is the same with a peer that has only sent to the previous process. The repetition of its
// packets shows where it is.
func TestScriptJumpReceive(t *testing.T) {
	p := play(t)
	p.connectFromUs()
	p.post(msg(1, []byte("one")))
	p.want("msg 0 len 3")
	p.ack(1, 128)
	for i := range 4 {
		p.d.recv(make([]byte, 10), uint64(i))
	}
	for range repeatsForProof - 1 {
		p.msg(30, "first")
		p.msg(31, "second")
		p.want("ack 0 window 128")
	}
	p.msg(30, "first")
	p.msg(31, "second")
	p.want("ack 32 window 128")

	q := play(t) // a new peer whose first packet was lost several times
	q.connectFromUs()
	q.d.recv(make([]byte, 10), 0)
	q.d.recv(make([]byte, 10), 0)
	for range repeatsForProof - 1 {
		q.msg(1, "second")
	}
	q.want("ack 0 window 128")
	q.msg(0, "first")
	q.want("ack 1 window 128")
	q.msg(1, "second")
	q.want("ack 2 window 128")
}

// TestScriptFreshIndex gives a peer up and contacts it again. Late packets from before do not count as the new
// process', unless it is the same process, which continues its numbers.
func TestScriptFreshIndex(t *testing.T) {
	for _, same := range []bool{true, false} {
		p := play(t)
		p.connectFromUs()
		p.msg(0, "one")
		p.post(msg(1, []byte("lost")))
		p.discard()
		for range 40 {
			p.after(second)
		}
		if p.discard(); len(p.d.failed) != 1 {
			t.Fatal(p.d.failed)
		}
		p.d.recv(make([]byte, 10), 0)
		old := p.index
		p.post(msg(2, []byte("two")))
		p.want("rts")
		if p.index == old {
			t.Fatal("the engine used the same index again")
		}
		fresh := p.index
		if !same {
			p.mine++
		}
		p.cts(uint64(p.mine))
		if !same {
			p.answerProbe(0)
		}
		p.index = old
		if same {
			p.want("data 9223372036854775808 seg 0 len 0")
			p.after(5 * ms)
			p.ack(0, 128)
			p.want("msg 0 len 3")
			p.d.recv(make([]byte, 10), 0)
			p.msg(1, "goes on")
			p.want("ack 2 window 128")
			continue
		}
		p.want("msg 0 len 3")
		p.msg(0, "a late copy")
		p.want()
		p.index = fresh
		p.d.recv(make([]byte, 10), 1)
		p.msg(0, "new life")
		p.want("ack 1 window 128")
		if k := len(p.d.done); string(p.d.done[k-1].Buf[:8]) != "new life" {
			t.Error(p.d.done)
		}
	}
}

// TestScriptRevalidate checks that a silent native peer must show which process it is before anything is sent to
// it.
func TestScriptRevalidate(t *testing.T) {
	for _, now := range []string{"same", "expects less", "other index", "speaks"} {
		p := play(t)
		p.connectFromUs()
		p.post(msg(1, []byte("one")))
		p.want("msg 0 len 3")
		p.ack(1, 128)
		for i := range 3 {
			p.d.recv(make([]byte, 10), uint64(i))
		}
		p.msg(0, "theirs")
		p.want("ack 1 window 128")
		p.after(2 * second)
		old := p.index
		p.post(msg(2, []byte("two")))
		p.want("rts")
		if p.index == old {
			t.Fatal("the engine used the same index again")
		}
		p.after(5 * ms)
		p.want("rts")
		switch now {
		case "same":
			p.cts(theirs)
			p.answerProbe(1)
			p.want("msg 1 len 3")
			p.after(20 * ms)
			p.want("msg 1 len 3")
			p.after(2 * second)
			p.want("rts") // not a third time
			p.cts(theirs)
			p.answerProbe(2)
			p.index = old
			p.msg(1, "older")
			p.want("ack 2 window 128")
		case "expects less":
			p.cts(theirs)
			p.answerProbe(0)
		case "other index":
			p.cts(theirs + 1)
			p.mine++
		case "speaks":
			p.msg(0, "new")
			p.want("ack 1 window 128")
		}
		if len(p.d.failed) != map[bool]int{false: 1}[now == "same"] {
			t.Fatal(now, p.d.failed)
		}
		if now != "same" {
			p.msg(0, "new")
			p.want("ack 1 window 128")
			p.post(msg(3, []byte("three")))
			p.want("msg 0 len 5")
		}
	}
}
