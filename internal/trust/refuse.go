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
	Stream    Use = iota // a local socket and shared memory instead of a TCP connection
	Datagrams            // the local socket at which a port offers memory for datagrams
	Copies               // the local socket at which a process identifies itself before its memory is read
	Vectors              // the files of shared address vectors
	uses
)

// texts describes a Use: its purpose, how data is transferred without it, and the reason under which refusals are
// counted.
var texts = [uses]struct{ purpose, instead, reason string }{
	Stream:    {"a local socket for a TCP connection", "the connection remains on TCP", "untrusted_stream"},
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

// SetLog replaces package log by another function. Package trust/structured sets log/slog, which would link
// encoding/json into every program. It is for init functions.
func SetLog(to func(text string, pairs ...any)) { warn = to }

// logPause is the time after a logged refusal in which no other refusal of the same Use is logged. So a process that
// tries again and again does not fill disks.
const logPause = 10 * time.Second

// refusals are the refusals of a Use.
type refusals struct {
	logged   time.Time // time of the last logged one
	unlogged uint64    // number of others since then
}

// book has the refusals of all Uses.
var book struct {
	mu      sync.Mutex
	of      [uses]refusals
	writing bool
	line    sync.WaitGroup // the line that is being written
}

// Refuse counts and logs that a process was refused, and why. If the PID is 0, the user was refused. name is the name
// of the socket or file.
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
	// The caller may hold the lock of a domain, and a log handler may be slow.
	book.line.Go(func() {
		warn("gofabric: refused "+w.purpose+": "+why, "uid", p.UID, "pid", p.PID, "at", name, "own_uid", os.Geteuid(), "instead", w.instead, "unlogged", unlogged,
			"hint", "only processes of one user may share memory and local sockets; if no program of that user should communicate with this one, find out what the process is")
		book.mu.Lock()
		book.writing = false
		book.mu.Unlock()
	})
}

// ResetLog makes the next refusal of each Use be logged, even if it comes within logPause. It is for tests of
// packages that use this one.
func ResetLog() {
	book.line.Wait() // no refusal is logged while a line is being written
	book.mu.Lock()
	defer book.mu.Unlock()
	book.of = [uses]refusals{}
}
