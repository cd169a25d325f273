package trust

import (
	"log/slog"
	"os"
	"sync"
	"time"

	"gofabric/internal/netx"
	"gofabric/internal/telemetry"
)

// Place is where somebody was refused.
type Place uint8

const (
	Stream    Place = iota // the local socket of a domain, where streams go on
	Datagrams              // the local socket of a port, where memory for datagrams is offered
	Copies                 // the local socket where a process shows itself before its memory is read
	Vectors                // the files of shared address vectors
	places
)

// what says what a Place is for, what becomes of the data without it, and by which name it is counted.
var what = [places]struct{ way, instead, count string }{
	Stream:    {"a local socket for a TCP connection", "the connection stays what it is", "stranger_stream"},
	Datagrams: {"shared memory for datagrams", "datagrams go through the network stack", "stranger_datagrams"},
	Copies:    {"copies out of its memory", "messages go through the connection", "stranger_copies"},
	Vectors:   {"a shared address vector", "the vector is not opened", "stranger_vectors"},
}

// Provider is under which name refusals are counted in metrics.
const Provider = "same-host"

// pause is how long nothing more is logged of a place: who knocks all the time shall not fill disks.
const pause = 10 * time.Second

// book is what was refused at a place.
type book struct {
	last   time.Time
	unsaid uint64 // since then
}

var books struct {
	mu     sync.Mutex
	of     [places]book
	saying bool
}

// Refuse counts that a process, or, with PID 0, a user, was refused, and why, and logs it. name is the socket's or file's.
func Refuse(at Place, p netx.Peer, name, why string) {
	w := &what[at]
	telemetry.Gone(Provider, telemetry.Counts{"drops." + w.count: 1}, nil)
	books.mu.Lock()
	defer books.mu.Unlock()
	b := &books.of[at]
	if books.saying || !b.last.IsZero() && time.Since(b.last) < pause {
		b.unsaid++
		return
	}
	unsaid := b.unsaid
	b.last, b.unsaid, books.saying = time.Now(), 0, true
	go func() { // the caller may hold the lock of a domain, and a log may take its time
		slog.Warn("gofabric: refused "+w.way+": "+why, "uid", p.UID, "pid", p.PID, "at", name, "own_uid", os.Geteuid(), "instead", w.instead, "unlogged", unsaid,
			"hint", "only processes of one user share this, and only what is theirs: if no program of that user should talk to this one, look at what the process is")
		books.mu.Lock()
		books.saying = false
		books.mu.Unlock()
	}()
}

// Again has the next refusal at each place logged, however soon it comes. It is for tests of those who use this package.
func Again() {
	books.mu.Lock()
	defer books.mu.Unlock()
	books.of = [places]book{}
}
