package interop

import (
	"fmt"
	"testing"

	"gofabric/core"
	"gofabric/test/need"
)

// transferSizes cross the limits of injects, of copied payload and of socket buffers.
var transferSizes = []int{0, 1, 127, 128, 129, 4095, 4096, 4097, 65536, 1<<20 + 3}

const (
	injectSize   = 128
	transferData = 0x1122334455667788
	transferTag  = 0x8877665544332211
)

var messages = []op{
	{call: "send"}, {call: "sendv", parts: 4}, {call: "senddata", data: transferData},
	{call: "sendmsg", parts: 3, flags: core.OpDeliveryComplete},
	{call: "sendmsg", parts: 2, flags: core.OpTransmitComplete},
	{call: "sendmsg", flags: core.OpRemoteCQData | core.OpDeliveryComplete, data: transferData},
	{call: "inject"}, {call: "injectdata", data: transferData},
}

var taggedMessages = []op{
	{call: "tsend"}, {call: "tsendv", parts: 4}, {call: "tsenddata", data: transferData},
	{call: "tsendmsg", parts: 3, flags: core.OpDeliveryComplete},
	{call: "tsendmsg", parts: 2, flags: core.OpTransmitComplete},
	{call: "tsendmsg", flags: core.OpRemoteCQData | core.OpDeliveryComplete, data: transferData},
	{call: "tinject"}, {call: "tinjectdata", data: transferData},
}

// Remote accesses. segs has as many segments as the test will use.
var remotes = []op{
	{call: "write", segs: segments(1)}, {call: "writev", parts: 4, segs: segments(1)},
	{call: "writedata", data: transferData, segs: segments(1)},
	{call: "writemsg", parts: 3, segs: segments(4)},
	{call: "writemsg", segs: segments(2), flags: core.OpDeliveryComplete},
	{call: "writemsg", segs: segments(3), flags: core.OpTransmitComplete},
	{call: "writemsg", parts: 2, segs: segments(4),
		flags: core.OpRemoteCQData | core.OpDeliveryComplete, data: transferData},
	{call: "inject_write", segs: segments(1)}, {call: "inject_writedata", data: transferData, segs: segments(1)},
	{call: "read", segs: segments(1)}, {call: "readv", parts: 4, segs: segments(1)},
	{call: "readmsg", parts: 3, segs: segments(4)}, {call: "readmsg", segs: segments(2)},
}

func segments(n int) []core.RMAIov { return make([]core.RMAIov, n) }

// place spreads length bytes over the op's segments, which alternate between two keys.
func place(p op, length int) op {
	p.length = length
	n := len(p.segs)
	p.segs = segments(n)
	for i := range p.segs {
		s := core.RMAIov{Addr: uint64(64 + i*600000), Len: uint64(length / n), Key: keyAll}
		if i%2 == 1 {
			s.Addr, s.Key = uint64(32+i*400000), keyHalf
		}
		if i == n-1 {
			s.Len = uint64(length - i*(length/n))
		}
		p.segs[i] = s
	}
	return p
}

// where returns the offset of a segment in mem.
func where(s core.RMAIov) int {
	if s.Key == keyHalf {
		return bufSize/2 + int(s.Addr)
	}
	return int(s.Addr)
}

// TestNativeTransfers runs all calls in all sizes. Each end is the initiator and the target, over a connection that
// each end made once.
func TestNativeTransfers(t *testing.T) {
	t.Parallel()
	eachNative(t, 0, func(t *testing.T, s nativeStack) {
		eachDirection(t, func(t *testing.T, oursConnects bool) {
			l := s.link(t, 1)
			l.join(l.natives[0], oursConnects, nil, nil)
			l.transfers()
		})
	})
}

// transfers runs all transfers in both directions until one fails.
//
// Each call has every third size, beginning with another one than the call before. With GOFABRIC_MANY all calls have
// all sizes.
func (l *link) transfers() {
	calls := messages
	if l.ours.av != nil {
		calls = append(calls[:len(calls):len(calls)], taggedMessages...)
	}
	for _, r := range []struct {
		name     string
		from, to end
	}{{"we initiate", l.ours, l.natives[0]}, {"native initiates", l.natives[0], l.ours}} {
		ok := l.sub(r.name, func() {
			for i, c := range append(calls[:len(calls):len(calls)], remotes...) {
				if !l.sub(c.call+" "+fmt.Sprint(i), func() { l.sizes(r.from, r.to, c, l.turn+i) }) {
					return
				}
			}
			l.turn++
		})
		if !ok {
			return
		}
	}
}

func (l *link) sizes(from, to end, c op, first int) {
	l.t.Helper()
	for i, n := range l.sizesOf {
		if c.injects() && n > l.inject || !need.Many() && (i+first)%3 != 0 {
			continue
		}
		ok := l.sub(fmt.Sprint(n), func() {
			switch {
			case len(c.segs) == 0:
				l.message(from, to, c, n, false)
			case c.reads():
				l.read(from, to, place(c, n))
			default:
				l.write(from, to, place(c, n))
			}
		})
		if !ok {
			return
		}
	}
}

// kinds are the flags of a completion that name the operation.
const kinds = core.CompMsg | core.CompTagged | core.CompRMA | core.CompSend | core.CompRecv | core.CompRead | core.CompWrite | core.CompRemoteRead | core.CompRemoteWrite |
	core.CompRemoteCQData

func (l *link) wantFlags(e end, c completion, want core.CompFlags) {
	l.t.Helper()
	if c.flags&kinds != want {
		l.t.Errorf("%T: completion flags %#x, want %#x", e, uint64(c.flags&kinds), uint64(want))
	}
}

// message sends one message. With late it posts the receive after the send.
func (l *link) message(from, to end, c op, n int, late bool) {
	l.t.Helper()
	send, recv := l.context(), l.context()
	c.ctx, c.length = send, n
	r, kind := op{call: "recv", ctx: recv, length: n}, core.CompMsg
	if c.tagged() {
		c.tag = transferTag + send
		if l.net {
			c.tag &^= 1 << 63 // the provider reserves this bit, and does not find unexpected messages with it
		}
		r.call, r.tag, kind = "trecv", c.tag, core.CompTagged
	}
	l.fill(from, "tx", 0, n, send)
	if !late {
		l.post(to, r)
	}
	l.post(from, c)
	if late {
		l.post(to, r)
	}
	got := l.good(to, recv)
	if got.length != n || c.tagged() && got.tag != c.tag || c.hasData() && got.data != c.data {
		l.t.Errorf("%T received %+v, want %d bytes of %+v", to, got, n, c)
	}
	flags := core.CompRecv | kind
	if c.hasData() {
		flags |= core.CompRemoteCQData
	}
	l.wantFlags(to, got, flags)
	l.check(to, "rx", 0, n, send)
	if !c.injects() {
		l.wantFlags(from, l.good(from, send), core.CompSend|kind)
	}
}

func (l *link) write(from, to end, c op) {
	l.t.Helper()
	c.ctx = l.context()
	off := 0
	for i, s := range c.segs {
		l.fill(from, "tx", off, int(s.Len), c.ctx<<8+uint64(i))
		off += int(s.Len)
	}
	l.post(from, c)
	if !c.injects() {
		l.wantFlags(from, l.good(from, c.ctx), core.CompWrite|core.CompRMA)
	}
	if c.hasData() {
		got := l.good(to, 0)
		if got.data != c.data {
			l.t.Errorf("%T: written with data %#x, want %#x", to, got.data, c.data)
		}
		got.flags |= core.CompRMA // 1.17 omits the flag
		l.wantFlags(to, got, core.CompRemoteWrite|core.CompRMA|core.CompRemoteCQData)
	} else if c.flags&core.OpDeliveryComplete == 0 {
		l.flush(from, to)
	}
	for i, s := range c.segs {
		l.check(to, "mem", where(s), int(s.Len), c.ctx<<8+uint64(i))
	}
}

func (l *link) read(from, to end, c op) {
	l.t.Helper()
	c.ctx = l.context()
	for i, s := range c.segs {
		l.fill(to, "mem", where(s), int(s.Len), c.ctx<<8+uint64(i))
	}
	l.post(from, c)
	l.wantFlags(from, l.good(from, c.ctx), core.CompRead|core.CompRMA)
	off := 0
	for i, s := range c.segs {
		l.check(from, "rx", off, int(s.Len), c.ctx<<8+uint64(i))
		off += int(s.Len)
	}
}
