package endpoint

import (
	"gofabric/internal/mono"
	"gofabric/internal/telemetry"
	"gofabric/internal/xnet/engine"
)

// Counts that an endpoint keeps while it works. They cost a few additions to its own memory, under the lock that
// the operation holds anyway.

// kindStats counts operations of one kind.
type kindStats struct {
	ops, bytes, errs uint64
}

// count counts one successful operation.
func (t *kindStats) count(bytes uint64) {
	t.ops++
	t.bytes += bytes
}

// opStats are the counts of an endpoint.
type opStats struct {
	kinds   [engine.KindColl + 1]kindStats
	againTx uint64 // transmits, and below receives, that were refused with ErrAgain
	againRx uint64
	until   [kindRoom]int32 // by kind: operations until the next one is timed
	inUse   uint8           // bit i: timed[i] is in use
	timed   [samples]sample
	took    *[engine.KindColl + 1]*telemetry.Latency // nil until the first operation was timed
}

const (
	// One operation of a kind in so many is timed: reading the clock twice costs a hundred times as much as
	// counting.
	sampleEvery = 256
	samples     = 4  // timed operations in progress at a time
	kindRoom    = 16 // at least the number of kinds, and a power of two, so that indexing needs no bounds check
)

const _ = uint(kindRoom - engine.KindColl - 1) // compiles only while all kinds have room

// sample is an operation that is timed.
type sample struct {
	began mono.Time
	kind  engine.Kind
}

// begin returns the mark of an operation that is timed, and 0 for others. The first operation of each kind is
// timed. Kinds are counted apart, so that a regular pattern of calls cannot hide one.
func (t *opStats) begin(kind engine.Kind) uint8 {
	if n := &t.until[kind%kindRoom]; *n > 1 {
		*n--
		return 0
	}
	return t.take(kind)
}

// take is the slow path of begin, for one operation in sampleEvery.
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

// end records the time of a marked operation. The time of a failed one is dropped.
func (t *opStats) end(mark uint8, ok bool) {
	i := uint(mark) - 1 // mark 0 becomes an index out of range
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

// kindWord is the name of each kind of operation in reports.
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

// add writes the counts into c.
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

// latencies returns the measured times, nil if none was taken.
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
