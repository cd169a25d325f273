//go:build linux && !fabricbasic

package tcp

// A model of bursts of messages: on every path, each peer receives the messages that were sent to it, in order.

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gofabric/core"
)

// routeSizes are the lengths of messages. Most are equal, so that messages can be coalesced.
var routeSizes = []int{16, 16, 16, 16, 24, 64, 5000}

// inbox is a peer of the model.
type inbox struct {
	*rdm
	d    *dom
	f    *core.Fabric
	addr core.Addr
	bufs [][]byte // posted, by context
	got  []uint64 // numbers in order of arrival
	sent []uint64 // numbers in order of sending
	must int      // index in sent: messages from here on cannot have been lost
	// Messages that may still be sent, untagged and tagged: one without a receive is overtaken by those of the
	// other kind.
	room [2]int
}

// receives is the number of posted receives of each kind: for the messages of one round, and as many for those sent
// before a disconnection.
const receives = 200

// post keeps receives of both kinds posted.
func (b *inbox) post(t *testing.T, tagged bool) {
	t.Helper()
	buf := make([]byte, 5000)
	ctx := core.OpContext(len(b.bufs))
	b.bufs = append(b.bufs, buf)
	if tagged {
		must(t, b.TRecv(buf, 0, core.AddrUnspec, 0, ^uint64(0), ctx))
		return
	}
	must(t, b.Recv(buf, 0, core.AddrUnspec, ctx))
}

// routeModel is one sender and its peers.
type routeModel struct {
	t       *testing.T
	from    *inbox
	to      []*inbox
	aliases []*core.Endpoint // the endpoint and its aliases
	fi      []core.FIAddr    // index of each peer in the vector, AddrNotAvail if it has none
	n       uint64           // messages
	pending int              // completions that have not arrived
}

func openInbox(t *testing.T) *inbox {
	f, d, info := fixture(t, core.EPTypeRDM, nil)
	info.Tx.OpFlags = 0
	b := &inbox{f: f, d: d, rdm: openEndpoint(t, d, info), room: [2]int{receives / 2, receives / 2}}
	var err error
	b.addr, err = b.Name()
	must(t, err)
	return b
}

func (b *inbox) close(t *testing.T) {
	b.closeAll(t)
	must(t, b.d.Close())
	must(t, b.f.Close())
}

// pump reads the completions of all endpoints.
func (m *routeModel) pump(rt *rapid.T) {
	es := make([]core.CQEntry, 16)
	for _, b := range append(m.to, m.from) {
		for {
			n, err := b.q.Read(es)
			for _, e := range es[:max(n, 0)] {
				if b == m.from {
					m.pending--
					continue
				}
				b.got = append(b.got, binary.LittleEndian.Uint64(b.bufs[e.Ctx]))
				b.post(m.t, binary.LittleEndian.Uint64(b.bufs[e.Ctx][8:])&1 != 0)
			}
			if errors.Is(err, core.ErrAvail) {
				var ee core.CQErrEntry
				// An inject has only error entries.
				if err := b.q.ReadErr(&ee); err == nil && b == m.from && ee.Ctx != 0 {
					m.pending--
				}
				continue
			}
			if n <= 0 {
				break
			}
		}
	}
}

// send posts one message. It waits if there is no room.
func (m *routeModel) send(rt *rapid.T, way, who, alias, size int, tag uint64) {
	tagged := 0
	if way == 1 || way == 3 {
		tagged = 1
	}
	if m.to[who].room[tagged] == 0 {
		m.settle(rt)
	}
	m.to[who].room[tagged]--
	b := make([]byte, size)
	binary.LittleEndian.PutUint64(b, m.n)
	binary.LittleEndian.PutUint64(b[8:], uint64(tagged))
	ep := m.aliases[alias]
	for end := time.Now().Add(bound); ; {
		var err error
		done := 1
		switch {
		case size > 64 && way == 1, way == 3:
			err = ep.TSend(b, 0, m.fi[who], tag, core.OpContext(m.n+1))
		case size > 64, way == 2:
			err = ep.Send(b, 0, m.fi[who], core.OpContext(m.n+1))
		case way == 1:
			err, done = ep.TInject(b, m.fi[who], tag), 0
		case way == 4:
			err = ep.SendMsg(&core.MsgArgs{IOV: [][]byte{b}, Addr: m.fi[who], Ctx: core.OpContext(m.n + 1)}, core.OpFence|core.OpCompletion)
		default:
			err, done = ep.Inject(b, m.fi[who]), 0
		}
		if errors.Is(err, core.ErrAgain) && time.Now().Before(end) {
			m.pump(rt)
			continue
		}
		if err != nil {
			rt.Fatalf("send: %v", err)
		}
		m.pending += done
		break
	}
	m.to[who].sent = append(m.to[who].sent, m.n)
	m.n++
}

// settle waits until all messages have arrived that cannot be lost, and compares.
func (m *routeModel) settle(rt *rapid.T) {
	end := time.Now().Add(bound)
	for i, b := range m.to {
		for len(b.sent) > 0 && (len(b.got) == 0 || b.got[len(b.got)-1] != b.sent[len(b.sent)-1]) && b.must < len(b.sent) {
			if m.pump(rt); time.Now().After(end) {
				rt.Fatalf("peer %d has %v of %v, %d completions are missing", i, b.got, b.sent, m.pending)
			}
		}
		k := 0
		for j, n := range b.sent {
			switch {
			case k < len(b.got) && b.got[k] == n:
				k++
			case j >= b.must:
				rt.Fatalf("peer %d: message %d of %v is missing in %v", i, n, b.sent, b.got)
			}
		}
		if k < len(b.got) {
			rt.Fatalf("peer %d: %v is not in order, or not of %v", i, b.got, b.sent)
		}
		if b.must < len(b.sent) { // the last has arrived, so the missing ones are lost
			b.got, b.sent, b.must = b.got[:0], b.sent[:0], 0
		}
		b.room = [2]int{receives / 2, receives / 2}
	}
}

func TestLastRouteModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &routeModel{t: t, from: openInbox(t)}
		defer func() {
			for _, a := range m.aliases[1:] {
				must(t, a.Close())
			}
			for _, b := range append(m.to, m.from) {
				b.close(t)
			}
		}()
		m.aliases = []*core.Endpoint{m.from.Endpoint}
		for range 3 {
			b := openInbox(t)
			for i := range 2 * receives {
				b.post(t, i%2 == 0)
			}
			m.to, m.fi = append(m.to, b), append(m.fi, core.AddrNotAvail)
			m.insert(len(m.to) - 1)
		}
		for _, flags := range []core.OpFlags{0, core.OpDeliveryComplete} {
			a, err := m.from.Alias(core.BindTransmit, flags)
			must(t, err)
			m.aliases = append(m.aliases, a)
		}
		who := rapid.IntRange(0, 2)
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch step := rapid.SampledFrom([]string{"burst", "burst", "burst", "mixed", "mixed", "vector", "disconnect", "pump", "settle"}).Draw(rt, "step"); step {
			case "burst":
				way, p, alias, size := rapid.IntRange(0, 3).Draw(rt, "way"), who.Draw(rt, "peer"), rapid.IntRange(0, 2).Draw(rt, "alias"), rapid.SampledFrom(routeSizes).Draw(rt, "size")
				for range rapid.IntRange(1, 30).Draw(rt, "times") {
					m.send(rt, way, p, alias, size, 5)
				}
			case "mixed":
				for range rapid.IntRange(1, 10).Draw(rt, "times") {
					m.send(rt, rapid.IntRange(0, 4).Draw(rt, "way"), who.Draw(rt, "peer"), rapid.IntRange(0, 2).Draw(rt, "alias"), rapid.SampledFrom(routeSizes).Draw(rt, "size"), uint64(rapid.IntRange(5, 6).Draw(rt, "tag")))
				}
			case "vector": // two peers exchange their indices, or one is inserted again
				i, j := who.Draw(rt, "peer"), who.Draw(rt, "peer")
				must(t, m.from.v.Remove([]core.FIAddr{m.fi[i]}, 0))
				if j != i {
					must(t, m.from.v.Remove([]core.FIAddr{m.fi[j]}, 0))
					m.insert(j)
				}
				m.insert(i)
			case "disconnect":
				i := who.Draw(rt, "peer")
				if m.from.drv.Disconnect(m.fi[i]) == nil {
					m.to[i].must = len(m.to[i].sent)
				}
			case "pump":
				m.pump(rt)
			case "settle":
				m.settle(rt)
			}
		}
		m.settle(rt)
		for end := time.Now().Add(bound); m.pending > 0; m.pump(rt) {
			if time.Now().After(end) {
				rt.Fatalf("%d completions are missing", m.pending)
			}
		}
		if m.pending < 0 {
			rt.Fatalf("%d completions too many", -m.pending)
		}
	})
}

// insert inserts a peer into the vector.
func (m *routeModel) insert(i int) {
	fi := make([]core.FIAddr, 1)
	_, err := m.from.v.Insert([]core.Addr{m.to[i].addr}, fi, 0)
	must(m.t, err)
	m.fi[i] = fi[0]
}
