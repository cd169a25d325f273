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
	// tickMin and tickMax bound the interval after which a polled Engine looks whether it is still polled.
	tickMin = time.Millisecond
	tickMax = 4 * time.Millisecond
	// pushMargin is how close the timer may come while passes are made: they push it out, for waking the goroutine costs the pollers many
	// times what setting a timer does. On two processors a tick of 4 ms cost a ping-pong a fifth.
	pushMargin = 60 * time.Microsecond
	// directMax is the number of stream sockets up to which a pass reads each of them without asking the poller first: an empty receive
	// costs less than the poller's answer plus the receive that follows it. Streams in memory do not count: a look at one is no call at all.
	directMax = 2
	// sweepEvery is how many direct passes go by before one asks the poller, for listeners and write readiness.
	sweepEvery = 256
	// asideEvery is the same while sockets stand aside (Handle.StandAside): what they say first should not wait long.
	asideEvery = 16
	// directAfter is how many direct passes go by before the streams leave the poller altogether.
	directAfter = 64
	// clockEvery is how many passes go by between looks at the clock for deadlines.
	clockEvery = 64
	eventBatch = 64
	// slowPasses is what clockEvery passes take at least where the caller is slow: then every pass asks the poller, which costs nothing beside the pauses
	// between them. Or a connection would come up milliseconds late, with the goroutine's tick, and with manual progress, where nothing ticks, after a
	// quarter of a second if the caller comes by each millisecond.
	slowPasses = time.Millisecond
)

// Source is a socket's owner. Its methods are called with the Engine's lock held.
type Source interface {
	// Ready reports what the poller saw: data to read (or a hang-up), room to write.
	Ready(in, out bool)
	// Poll tries to receive without having been told that there is anything.
	Poll()
	// Expired reports that the deadline set with SetDeadline has passed.
	Expired(now mono.Time)
	// Lost reports that the poller does not take the socket back: nobody would notice what comes. End what it is for.
	Lost(err error)
}

// Director is a Source that wants to know when passes read it without having been told of anything.
type Director interface {
	// Direct tells, with the Engine's lock held, that from now on every pass calls Poll and nobody looks at the descriptor, or that this has ended: then
	// what waits already must make it ready. Only what ends it can fail.
	Direct(on bool) error
}

// parker is what the goroutine waits on: netx.Parker, or virtualParker where there are no descriptors. Park returns all the reasons that there are.
type parker interface {
	Park() (netx.Why, error)
	ArmPoller(on bool) error
	SetTimer(d time.Duration) error
	Wake()
	Close() error
}

// Engine makes progress for one domain, or for the listeners of a fabric. Methods say if they need its lock.
type Engine struct {
	mu    sync.Mutex
	batch batch.Scheduler

	poller *netx.Poller // nil without descriptors
	parker parker
	events [eventBatch]netx.Event
	marks  marks

	slots   []*Handle
	free    []int
	gens    uint32
	streams []*Handle // stream sockets, the candidates for direct reads
	memory  []*Handle // streams in memory, which every pass reads
	aside   int       // sockets that stand aside
	direct  int       // direct passes since the goroutine gave way

	timers queue.Heap[mono.Time, *Handle]

	tasks, idleTasks []Task // to be run; the other one of two lists that take turns
	crowd            int    // see Crowd
	inlets           []Inlet

	// The goroutine's state.
	armed      bool
	told       bool // the poller woke it: there is something to sweep up, which need not be a stream
	auto       bool
	slow       bool      // passes are rare (slowPasses), and each asks the poller; nobody knows at first
	looked     mono.Time // the last look
	waiters    int
	timerAt    mono.Time
	tick       time.Duration
	tickPasses uint64    // passes at tickSince
	tickSince  mono.Time // when it was last seen that passes are made
	closed     bool
	done       chan struct{}
	stop       atomic.Bool
	errand     atomic.Uint32 // what is to be done by whoever holds the lock: why the goroutine woke meanwhile, tasks, visitors
	visitors   visitors

	errands bool // the goroutine's errand is being done: the application has not come by
}

// New starts an Engine. With auto, its goroutine takes over when nobody passes; without (manual progress), only while somebody waits.
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

// start makes e run.
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

// Close stops the goroutine and frees the descriptors. The sources must be gone.
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

// Lock and Unlock guard everything that belongs to the domain.
func (e *Engine) Lock() { e.mu.Lock() }

// Virtual reports that the Engine uses nothing of the system (NewVirtual).
func (e *Engine) Virtual() bool { return e.poller == nil }

// Unlock also does what the goroutine came for while the lock was held: it must not queue up for a lock that a polling caller takes millions of times
// a second. A mutex with a waiter wakes it at each unlock, in vain, for a millisecond.
func (e *Engine) Unlock() {
	e.mu.Unlock()
	if e.errand.Load() != 0 {
		e.runErrand()
	}
}

// Batch decides when posted messages leave. Locked.
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
	if e.crowd > 0 {
		e.errand.Or(errandYield)
	}
}

func (e *Engine) pass() {
	passes := e.batch.Pass()
	if len(e.inlets) > 0 {
		e.takeInlets()
	}
	e.FlushStaged()
	if len(e.tasks) > 0 {
		e.errand.Or(errandTasks)
	}
	if e.marks.some.Load() {
		e.serveMarked()
	}
	for i := 0; i < len(e.memory); i++ { // one may end, or join, meanwhile
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
		if passes%sweepEvery == 0 || e.aside > 0 && passes%asideEvery == 0 || e.told || e.slow {
			e.sweep()
		}
	} else if len(e.slots) > len(e.free) && e.poller != nil {
		e.sweep()
	}
	if passes%clockEvery == 0 {
		e.look(mono.Now())
	}
}

// look serves deadlines, and keeps the goroutine asleep, while passes are made.
func (e *Engine) look(now mono.Time) {
	if e.auto && !e.armed && e.timerAt != 0 && e.timerAt.Sub(now) < pushMargin && !e.batch.Waiting() {
		e.ticked(now)
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

// FlushStaged transmits what posts left waiting. Locked.
func (e *Engine) FlushStaged() { e.batch.Flush(!e.errands) }

// armTimer makes sure that the goroutine wakes no later than d from now, give or take a batch.Delay. Locked.
func (e *Engine) armTimer(now mono.Time, d time.Duration) bool {
	at := now.Add(d)
	if e.timerAt != 0 && e.timerAt > now && e.timerAt <= at && e.timerAt >= now.Add(d/4) {
		return true // the armed one serves
	}
	if err := e.parker.SetTimer(d); err != nil {
		return false
	}
	e.timerAt = at
	return true
}

// Wake makes the goroutine run once, soon. Any goroutine.
func (e *Engine) Wake() { e.parker.Wake() }

// EnterWait says that the caller will sleep until a completion or event; from now on the Engine advances by itself. Locked.
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
