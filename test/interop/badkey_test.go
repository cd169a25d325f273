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
	{"unknown key", op{call: "writemsg", flags: core.OpDeliveryComplete,
		segs: []core.RMAIov{{Addr: 64, Len: 512, Key: 99}}}},
	{"beyond the end", op{call: "writemsg", flags: core.OpDeliveryComplete,
		segs: []core.RMAIov{{Addr: bufSize/2 - 511, Len: 512, Key: keyHalf}}}},
	{"around the end", op{call: "writemsg", flags: core.OpDeliveryComplete,
		segs: []core.RMAIov{{Addr: ^uint64(0) - 255, Len: 512, Key: keyHalf}}}},
	{"read-only", op{call: "writemsg", flags: core.OpDeliveryComplete,
		segs: []core.RMAIov{{Addr: 64, Len: 512, Key: keyReadOnly}}}},
	{"second segment", op{call: "writemsg", flags: core.OpDeliveryComplete, segs: []core.RMAIov{
		{Addr: 64, Len: 256, Key: keyAll}, {Addr: 64, Len: 256, Key: 98}}}},
	{"read of unknown key", op{call: "read", segs: []core.RMAIov{{Addr: 64, Len: 512, Key: 99}}}},
	{"read beyond the end", op{call: "read", segs: []core.RMAIov{{Addr: bufSize/2 - 511, Len: 512, Key: keyHalf}}}},
}

// TestNativeBadKey names memory that may not be accessed. The connection ends at both ends with an error. Other
// connections continue, and a new one can be made.
func TestNativeBadKey(t *testing.T) {
	t.Parallel()
	eachNative(t, 0, func(t *testing.T, s nativeStack) {
		for _, we := range []bool{true, false} {
			t.Run(map[bool]string{true: "we initiate", false: "native initiates"}[we], func(t *testing.T) {
				l := s.link(t, 2)
				n, bystander := l.natives[0], l.natives[1]
				l.join(bystander, true, nil, nil)
				ep, dest := l.ours.ep, l.ours.dest
				l.join(n, we, nil, nil)
				for _, b := range badAccesses {
					ok := l.sub(b.name, func() {
						l.badAccess(n, we, b.op)
						o := l.ours
						ep, o.ep, dest, o.dest = o.ep, ep, o.dest, dest
						l.flush(o, bystander)
						l.flush(bystander, o)
						ep, o.ep, dest, o.dest = o.ep, ep, o.dest, dest
						if o.eq != nil {
							l.tell(n, "close")
							l.join(n, we, nil, nil)
						}
						l.flush(o, n)
						l.flush(n, o)
					})
					if !ok {
						return
					}
				}
			})
		}
	})
}

// badAccess has one end name memory of the other that it may not access, and checks the errors at both ends.
func (l *link) badAccess(n *native, we bool, bad op) {
	l.t.Helper()
	var from, to end = l.ours, n
	if !we {
		from, to = to, from
	}
	const seed = 77
	l.fill(to, "mem", 64, 512, seed)
	bad.ctx, bad.length = l.context(), 512
	waiting := l.context()
	if l.ours.eq != nil {
		l.post(to, op{call: "recv", ctx: waiting, length: 64})
	}
	l.post(from, bad)
	if c := l.want(from, bad.ctx); c.err == 0 {
		l.t.Errorf("%T: succeeded: %+v", from, c)
	}
	if l.ours.eq != nil {
		l.event(to, "shutdown")
		l.event(from, "shutdown")
		c := l.want(to, waiting)
		if c.err != core.ErrCanceled || !we && !strings.Contains(c.detail, "may not access") {
			l.t.Errorf("%T: receive on the connection that ended: %v: %s; want %v, and the reason at our end", to,
				c.err, c.detail, core.ErrCanceled)
		}
	}
	if bad.segs[0].Key != keyAll { // a good segment before the bad one may have been written
		l.check(to, "mem", 64, 512, seed)
	}
}
