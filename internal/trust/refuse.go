package trust

import (
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"gofabric/internal/netx"
	"gofabric/internal/telemetry"
)

// Use is what an untrusted process wanted to share.
type Use uint8

const (
	Stream    Use = iota // a domain's local socket, and shared memory, in place of a TCP connection
	Datagrams            // a port's local socket, where memory for datagrams is offered
	Copies               // the local socket where a process shows itself before its memory is read
	Vectors              // the files of shared address vectors
	uses
)

// texts say what a Use is for, what becomes of the data without it, and the reason under which refusals are counted.
var texts = [uses]struct{ purpose, instead, reason string }{
	Stream:    {"a local socket for a TCP connection", "the connection stays what it is", "untrusted_stream"},
	Datagrams: {"shared memory for datagrams", "datagrams go through the network stack", "untrusted_datagrams"},
	Copies:    {"copies out of its memory", "messages go through the connection", "untrusted_copies"},
	Vectors:   {"a shared address vector", "the vector is not opened", "untrusted_vectors"},
}

// Provider is the provider under which metrics count refusals.
const Provider = "same-host"

// warn logs a line, with pairs of keys and values.
var warn = plain

// plain logs by package log.
func plain(text string, pairs ...any) {
	for i := 0; i+1 < len(pairs); i += 2 {
		verb := " %v=%v"
		if _, ok := pairs[i+1].(string); ok {
			verb = " %v=%q"
		}
		text += fmt.Sprintf(verb, pairs[i], pairs[i+1])
	}
	log.Print(text)
}

// SetLog sets what logs, in place of package log. Package trust/structured sets log/slog, which brings encoding/json along. It is for init functions.
func SetLog(to func(text string, pairs ...any)) { warn = to }

// logPause is how long no further refusal of a Use is logged, so that a process that tries all the time does not fill disks.
const logPause = 10 * time.Second

// refusals are those of a Use.
type refusals struct {
	logged   time.Time // the last
	unlogged uint64    // since then
}

// book has what was refused.
var book struct {
	mu      sync.Mutex
	of      [uses]refusals
	writing bool
	line    sync.WaitGroup // that is being written
}

// Refuse counts and logs that a process was refused, and why. With PID 0 it was a user. name is the socket's or file's.
func Refuse(use Use, p netx.Peer, name, why string) {
	w := &texts[use]
	telemetry.Gone(Provider, telemetry.Counts{"drops." + w.reason: 1}, nil)
	book.mu.Lock()
	defer book.mu.Unlock()
	r := &book.of[use]
	if book.writing || !r.logged.IsZero() && time.Since(r.logged) < logPause {
		r.unlogged++
		return
	}
	unlogged := r.unlogged
	r.logged, r.unlogged, book.writing = time.Now(), 0, true
	book.line.Go(func() { // the caller may hold the lock of a domain, and a log handler may be slow
		warn("gofabric: refused "+w.purpose+": "+why, "uid", p.UID, "pid", p.PID, "at", name, "own_uid", os.Geteuid(), "instead", w.instead, "unlogged", unlogged,
			"hint", "only processes of one user share this: if no program of that user should talk to this one, find out what the process is")
		book.mu.Lock()
		book.writing = false
		book.mu.Unlock()
	})
}

// ResetLog has the next refusal of each Use logged, however soon it comes. It is for tests of packages that use this one.
func ResetLog() {
	book.line.Wait() // a refusal while a line is being written is not logged
	book.mu.Lock()
	defer book.mu.Unlock()
	book.of = [uses]refusals{}
}
