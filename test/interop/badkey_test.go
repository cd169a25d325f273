package interop

import (
	"strings"
	"testing"

	"gofabric/core"
)

// badAccesses are remote accesses that a target must refuse.
var badAccesses = []struct {
	name string
	op   op
}{
	{"unknown key", op{call: "writemsg", flags: core.DeliveryComplete, segs: []core.RMAIov{{Addr: 64, Len: 512, Key: 99}}}},
	{"beyond the end", op{call: "writemsg", flags: core.DeliveryComplete, segs: []core.RMAIov{{Addr: bufSize/2 - 511, Len: 512, Key: keyHalf}}}},
	{"around the end", op{call: "writemsg", flags: core.DeliveryComplete, segs: []core.RMAIov{{Addr: ^uint64(0) - 255, Len: 512, Key: keyHalf}}}},
	{"read-only", op{call: "writemsg", flags: core.DeliveryComplete, segs: []core.RMAIov{{Addr: 64, Len: 512, Key: keyReadOnly}}}},
	{"second segment", op{call: "writemsg", flags: core.DeliveryComplete, segs: []core.RMAIov{
		{Addr: 64, Len: 256, Key: keyAll}, {Addr: 64, Len: 256, Key: 98}}}},
	{"read of unknown key", op{call: "read", segs: []core.RMAIov{{Addr: 64, Len: 512, Key: 99}}}},
	{"read beyond the end", op{call: "read", segs: []core.RMAIov{{Addr: bufSize/2 - 511, Len: 512, Key: keyHalf}}}},
}

// TestNativeBadKey names memory that may not be accessed: the connection ends, at both ends with an error; others live, and a new one can be made.
func TestNativeBadKey(t *testing.T) {
	eachNative(t, 0, func(t *testing.T, s nativeStack) {
		for _, we := range []bool{true, false} {
			name := map[bool]string{true: "we initiate", false: "native initiates"}[we]
			t.Run(name, func(t *testing.T) {
				for _, b := range badAccesses {
					t.Run(b.name, func(t *testing.T) { testBadKey(t, s, we, b.op) })
				}
			})
		}
	})
}

func testBadKey(t *testing.T, s nativeStack, we bool, bad op) {
	l := s.link(t, 2)
	bystander, n := l.natives[1], l.natives[0]
	l.join(bystander, true, nil, nil)
	good := *l.ours
	l.join(n, we, nil, nil)
	var from, to end = l.ours, n
	if !we {
		from, to = to, from
	}
	const seed = 77
	l.fill(to, "mem", 64, 512, seed)
	waiting := l.context()
	if l.ours.eq != nil {
		l.post(to, op{call: "recv", ctx: waiting, length: 64})
	}
	bad.ctx, bad.length = l.context(), 512
	l.post(from, bad)
	if c := l.want(from, bad.ctx); c.err == 0 {
		t.Errorf("%T: succeeded: %+v", from, c)
	} else {
		t.Logf("%T: %v: %s", from, c.err, c.detail)
	}
	if l.ours.eq != nil {
		l.event(to, "shutdown")
		l.event(from, "shutdown")
		c := l.want(to, waiting)
		if !we && (c.err != core.ErrCanceled || !strings.Contains(c.detail, "may not access")) {
			t.Errorf("our receive on the connection that ended: %v: %s; want %v and the reason", c.err, c.detail, core.ErrCanceled)
		}
	}
	if bad.segs[0].Key != keyAll {
		l.check(to, "mem", 64, 512, seed)
	}

	ep, dest := l.ours.ep, l.ours.dest
	l.ours.ep, l.ours.dest = good.ep, good.dest
	l.flush(l.ours, bystander)
	l.flush(bystander, l.ours)
	l.ours.ep, l.ours.dest = ep, dest
	if l.ours.eq != nil {
		l.tell(n, "close")
		l.join(n, !we, nil, nil)
	}
	l.flush(from, to)
	l.flush(to, from)
}
