// The Engine: its lock, its two states (polled and armed, see doc.go), and the pass, which is one round of
// progress. The numbers below are measured compromises between latency and the cost of system calls.

package progress

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"gofabric/internal/batch"
	"gofabric/internal/mono"
	"gofabric/internal/netx"
	"gofabric/internal/queue"
)

const (
	// tickMin and tickMax bound the tick: the interval after which a polled Engine checks that passes are still
	// made.
	tickMin = time.Millisecond
	tickMax = 4 * time.Millisecond
	// pushMargin is the time before the goroutine's next tick at which a pass moves the tick into the future. A
	// wake-up of the goroutine costs the callers many times what setting a timer costs: on two processors a tick of
	// 4 ms cost a ping-pong a fifth.
	pushMargin = 60 * time.Microsecond
	// directMax is the number of stream sockets up to which a pass reads each of them without asking the poller. An
	// empty receive costs less than the poller's answer and the receive that follows it. Streams in memory do not
	// count, as reading one takes no system call.
	directMax = 2
	// sweepEvery is the number of direct passes from one question to the poller to the next, for listeners and room
	// to write.
	sweepEvery = 256
	// candidatesEvery replaces sweepEvery while a socket may become a stream (Handle.MayBecomeStream), so that
	// their first bytes do not wait long.
	candidatesEvery = 16
	// directAfter is the number of direct passes after which the streams leave the poller.
	directAfter = 64
	// clockEvery is the number of passes from one reading of the clock to the next.
	clockEvery = 64
	eventBatch = 64
	// slowPasses is the time for clockEvery passes beyond which a caller counts as slow. Every pass of a slow
	// caller asks the poller: its cost is small beside the pauses between passes. Otherwise a connection would be
	// noticed milliseconds late, by the goroutine's tick. With manual progress, which has no ticks, a caller that
	// makes a pass each millisecond would notice it after a quarter of a second.
	slowPasses = time.Millisecond
)

// Source owns a socket. The Engine calls its methods with the lock held.
type Source interface {
	// Ready reports what the poller found: data to read or a hang-up (in), room to write (out).
	Ready(in, out bool)
	// Poll tries to receive although no readiness was reported.
	Poll()
	// Expired reports that the deadline set with SetDeadline has passed.
	Expired(now mono.Time)
	// Lost reports that the poller refused to take the socket back. No further data would be noticed, so the source
	// must end its connection.
	Lost(err error)
}

// Director is a Source that learns when passes start and stop reading it without asking the poller.
type Director interface {
	// Direct(true) reports that from now on every pass calls Poll, and that the descriptor is not watched.
	// Direct(false) reports the end of this: data that waits already must then make the descriptor ready. Only
	// Direct(false) can fail. The lock is held.
	Direct(on bool) error
}

// parker is what the goroutine waits on: netx.Parker, or virtualParker where there are no descriptors. Park returns
// all reasons for the wake-up.
type parker interface {
	Park() (netx.Why, error)
	ArmPoller(on bool) error
	SetTimer(d time.Duration) error
	Wake()
	Close() error
}

// Engine makes progress for one domain, or for the listeners of a fabric. A method whose comment says "Locked"
// needs the Engine's lock; the others may be called from any goroutine.
type Engine struct {
	mu    sync.Mutex
	batch batch.Scheduler

	poller *netx.Poller // nil without descriptors
	parker parker
	events [eventBatch]netx.Event
	marks  marks

	slots      []*Handle
	free       []int
	gens       uint32
	streams    []*Handle // stream sockets, the candidates for direct reads
	memory     []*Handle // streams in memory, which every pass reads
	candidates int       // sockets that may become streams
	direct     int       // direct passes since the goroutine gave way to a caller

	timers queue.Heap[mono.Time, *Handle]

	tasks, idleTasks []Task // to be run; two lists take turns, and idleTasks is the empty one
	localWaits       int    // see AddLocalWaits
	inlets           []Inlet

	// The goroutine's state.
	armed       bool
	pollerWoke  bool // the poller woke the goroutine: this pass asks it, as a socket other than a stream may be ready
	auto        bool
	slow        bool      // passes are rare (slowPasses), and each asks the poller; true until measured
	looked      mono.Time // time of the last call of look
	waiters     int
	timerAt     mono.Time
	tick        time.Duration
	tickPasses  uint64    // passes at tickSince
	tickSince   mono.Time // time at which passes were last seen to be made
	closed      bool
	done        chan struct{}
	stop        atomic.Bool
	pending     atomic.Uint32 // work for the holder of the lock: reasons (netx.Why) for a wake-up, tasks, inspections
	inspections inspections

	inPending bool // pending work is being done, so the application has not made this pass
}

// New starts an Engine. With auto, its goroutine takes over when no caller makes passes. Without it
// (FI_PROGRESS_MANUAL) the goroutine takes over only while a reader sleeps (EnterWait).
func New(auto bool) (*Engine, error) {
	poller, err := netx.NewPoller()
	if err != nil {
		return nil, err
	}
	parker, err := netx.NewParker()
	if err != nil {
		poller.Close()
		return nil, err
	}
	if err := parker.Attach(poller); err != nil {
		parker.Close()
		poller.Close()
		return nil, err
	}
	return start(&Engine{poller: poller, parker: parker, auto: auto, slow: true}), nil
}

// start starts the goroutine of e.
func start(e *Engine) *Engine {
	e.tick, e.done = tickMin, make(chan struct{})
	e.batch.Init((*host)(e))
	e.mu.Lock()
	if e.auto {
		e.becomeArmed()
	}
	e.mu.Unlock()
	go e.run()
	return e
}

// Close stops the goroutine and frees the descriptors. All sources must have been removed.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return os.ErrClosed
	}
	e.closed = true
	e.mu.Unlock()
	e.stop.Store(true)
	e.parker.Wake()
	<-e.done
	err := e.parker.Close()
	if e.poller != nil {
		err = errors.Join(err, e.poller.Close())
	}
	return err
}

// Lock acquires the lock, which guards everything that belongs to the domain.
func (e *Engine) Lock() { e.mu.Lock() }

// Virtual reports that the Engine uses nothing of the system (NewVirtual).
func (e *Engine) Virtual() bool { return e.poller == nil }

// Unlock releases the lock, and does the pending work that came up while it was held. The goroutine must not wait for a
// lock that a polling caller takes millions of times a second: a sync.Mutex with a waiter wakes it at each unlock,
// in vain, for a millisecond.
func (e *Engine) Unlock() {
	e.mu.Unlock()
	if e.pending.Load() != 0 {
		e.runPending()
	}
}

// Batch returns the scheduler that decides when posted messages leave. Locked.
func (e *Engine) Batch() *batch.Scheduler { return &e.batch }

// Pass makes one round of non-blocking progress. Locked.
func (e *Engine) Pass() {
	if e.closed {
		return
	}
	if e.armed && e.waiters == 0 {
		e.becomePolled()
	}
	e.pass()
	if e.localWaits > 0 {
		e.pending.Or(pendingYield)
	}
}

func (e *Engine) pass() {
	passes := e.batch.Pass()
	if len(e.inlets) > 0 {
		e.takeInlets()
	}
	e.FlushStaged()
	if len(e.tasks) > 0 {
		e.pending.Or(pendingTasks)
	}
	if e.marks.some.Load() {
		e.serveMarked()
	}
	for i := 0; i < len(e.memory); i++ { // a stream may be removed or added by a callback
		e.memory[i].src.Poll()
	}
	few := len(e.streams) <= directMax
	if few {
		for i := 0; i < len(e.streams); i++ {
			e.streams[i].src.Poll()
		}
	}
	if len(e.memory)+len(e.streams) > 0 {
		if e.direct++; e.direct == directAfter && !e.armed {
			e.becomeDirect(few)
		}
	}
	if few && len(e.memory)+len(e.streams) > 0 {
		if passes%sweepEvery == 0 || e.candidates > 0 && passes%candidatesEvery == 0 || e.pollerWoke || e.slow {
			e.sweep()
		}
	} else if len(e.slots) > len(e.free) && e.poller != nil {
		e.sweep()
	}
	if passes%clockEvery == 0 {
		e.look(mono.Now())
	}
}

// look serves deadlines, and moves the goroutine's next tick into the future while passes are made.
func (e *Engine) look(now mono.Time) {
	if e.auto && !e.armed && e.timerAt != 0 && e.timerAt.Sub(now) < pushMargin && !e.batch.Waiting() {
		e.notePasses(now)
		e.tick = min(e.tick*2, tickMax)
		if e.parker.SetTimer(e.tick) == nil {
			e.timerAt = now.Add(e.tick)
		}
	}
	e.slow = now.Sub(e.looked) > slowPasses
	e.looked = now
	if !e.armed {
		e.batch.Returned()
	}
	if e.timers.Len() > 0 {
		e.expire(now)
	}
}

// sweep asks the poller which sources are ready and serves them.
func (e *Engine) sweep() {
	n, err := e.poller.Wait(e.events[:], 0)
	if err != nil {
		return // interrupted: the next pass asks again
	}
	for _, ev := range e.events[:n] {
		h := e.slots[ev.Token&0xffffffff]
		if h == nil || h.gen != uint32(ev.Token>>32) {
			continue // removed by an event before it in this batch
		}
		bad := ev.Events&(netx.Err|netx.Hup) != 0
		h.src.Ready(ev.Events&netx.In != 0 || bad, ev.Events&netx.Out != 0 || bad)
	}
}

// FlushStaged transmits the messages that earlier posts left waiting. Locked.
func (e *Engine) FlushStaged() { e.batch.Flush(!e.inPending) }

// armTimer makes sure that the goroutine wakes no later than d from now, give or take a batch.Delay. Locked.
func (e *Engine) armTimer(now mono.Time, d time.Duration) bool {
	at := now.Add(d)
	if e.timerAt != 0 && e.timerAt > now && e.timerAt <= at && e.timerAt >= now.Add(d/4) {
		return true // the timer that is set suffices
	}
	if err := e.parker.SetTimer(d); err != nil {
		return false
	}
	e.timerAt = at
	return true
}

// Wake makes the goroutine run once, soon. Any goroutine may call it.
func (e *Engine) Wake() { e.parker.Wake() }

// EnterWait reports that the caller will sleep until a completion or an event. The goroutine makes the passes from
// now on. Locked.
func (e *Engine) EnterWait() {
	e.waiters++
	if !e.armed && !e.closed {
		e.becomeArmed()
	}
}

// LeaveWait ends EnterWait. Locked.
func (e *Engine) LeaveWait() {
	e.waiters--
	if e.waiters == 0 && !e.auto && !e.closed {
		e.becomePolled()
	}
}
