package endpoint

import (
	"gofabric/internal/mono"
	"gofabric/internal/telemetry"
	"gofabric/internal/xnet/engine"
)

// What an endpoint counts while it works: a few additions to memory of its own, under the lock that the operation holds.

// kindStats counts operations of one kind.
type kindStats struct {
	ops, bytes, errs uint64
}

// count counts one that ended well.
func (t *kindStats) count(bytes uint64) {
	t.ops++
	t.bytes += bytes
}

// opStats is what an endpoint did.
type opStats struct {
	kinds   [engine.KindColl + 1]kindStats
	againTx uint64 // transmits refused with ErrAgain, and receives
	againRx uint64
	until   [kindRoom]int32 // of a kind, operations until the next one is timed
	inUse   uint8           // bits, of timed
	timed   [samples]sample
	took    *[engine.KindColl + 1]*telemetry.Latency // nil until the first was timed
}

const (
	sampleEvery = 256 // one operation of a kind in so many is timed: two readings of the clock are a hundred times what counting costs
	samples     = 4   // under way at a time
	kindRoom    = 16  // no fewer than there are kinds, and a power of two, so that no index needs a check
)

const _ = uint(kindRoom - engine.KindColl - 1) // kinds have room

// sample is an operation that is timed.
type sample struct {
	began mono.Time
	kind  engine.Kind
}

// begin returns the mark of an operation that is timed, 0 of others. The first of a kind is timed, and each kind has its turn, whatever it alternates with.
func (t *opStats) begin(kind engine.Kind) uint8 {
	if n := &t.until[kind%kindRoom]; *n > 1 {
		*n--
		return 0
	}
	return t.take(kind)
}

// take is begin for every 256th.
func (t *opStats) take(kind engine.Kind) uint8 {
	t.until[kind%kindRoom] = sampleEvery
	for i := range t.timed {
		if t.inUse>>i&1 == 0 {
			t.inUse |= 1 << i
			t.timed[i] = sample{mono.Now(), kind}
			return uint8(i + 1)
		}
	}
	return 0
}

// end takes the time of an operation with a mark; one that failed tells nothing.
func (t *opStats) end(mark uint8, ok bool) {
	i := uint(mark) - 1 // without a mark, beyond all
	if i >= samples || t.inUse>>i&1 == 0 {
		return
	}
	t.inUse &^= 1 << i
	if !ok {
		return
	}
	s := t.timed[i]
	if t.took == nil {
		t.took = new([engine.KindColl + 1]*telemetry.Latency)
	}
	if t.took[s.kind] == nil {
		t.took[s.kind] = new(telemetry.Latency)
	}
	t.took[s.kind].Observe(mono.Now().Sub(s.began))
}

// kindWord is what reports call the kinds of operations.
var kindWord = [...]string{
	engine.KindSend:        "send",
	engine.KindRecv:        "receive",
	engine.KindRead:        "read",
	engine.KindWrite:       "write",
	engine.KindRemoteRead:  "remote_read",
	engine.KindRemoteWrite: "remote_write",
	engine.KindAtomic:      "atomic",
	engine.KindFetch:       "fetch_atomic",
	engine.KindCompare:     "compare_atomic",
	engine.KindColl:        "collective",
}

// add puts the figures into c.
func (t *opStats) add(c telemetry.Counts) {
	for k := range t.kinds {
		if n := &t.kinds[k]; n.ops > 0 {
			c["operations."+kindWord[k]] += n.ops
			c["bytes."+kindWord[k]] += n.bytes
		}
		if n := t.kinds[k].errs; n > 0 {
			c["errors."+kindWord[k]] += n
		}
	}
	if t.againTx > 0 {
		c["again.transmit"] += t.againTx
	}
	if t.againRx > 0 {
		c["again.receive"] += t.againRx
	}
}

// latencies returns what was timed, nil if nothing was.
func (t *opStats) latencies() map[string]telemetry.Histogram {
	if t.took == nil {
		return nil
	}
	m := map[string]telemetry.Histogram{}
	for k, l := range t.took {
		if l != nil {
			m[kindWord[k]] = l.Histogram()
		}
	}
	return m
}
