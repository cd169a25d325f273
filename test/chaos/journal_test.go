package chaos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A journal records what a process has done, in a file that outlives the process. Each step of each message is a
// record, written with write(2) at once.

// noteKind is the kind of a record.
type noteKind uint8

const (
	notePosted   noteKind = iota + 1 // the message is about to be posted
	noteDone                         // it has completed at its level
	noteFailed                       // it has completed with an error, was refused or cancelled
	noteReceived                     // it has been received, and its content was right
	noteClosing                      // the process begins to close in good order
	noteClosed                       // the process has closed
	noteLate                         // during the close it has given up a peer that did not take what was sent
	noteGoodbye                      // the reader saw an orderly end behind the last message of the life that is named
	noteReset                        // the reader saw a reset there
	noteGaveUp                       // an operation toward a peer has ended because the peer did not answer
)

// level is what a completion promises.
type level uint8

const (
	levelInject level = iota
	levelNone
	levelInjectComplete
	levelTransmit
	levelDelivery
	levelMatch
	levelCommit
	levels
)

func (l level) String() string {
	return [...]string{"inject", "default", "inject complete", "transmit complete", "delivery complete",
		"match complete", "commit complete"}[l]
}

// arrives reports whether a completion of the level means that the peer's process has the message.
func (l level) arrives() bool { return l >= levelDelivery }

// note is a record.
type note struct {
	word  uint64
	kind  noteKind
	to    uint8 // the receiver, for messages that are sent
	level level
	at    time.Duration // since the fleet's epoch
}

const noteSize = 16

func (n note) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, n.word)
	return binary.LittleEndian.AppendUint64(b,
		uint64(n.kind)<<56|uint64(n.to)<<48|uint64(n.level)<<44|uint64(n.at/time.Microsecond)&(1<<44-1))
}

func noteOf(b []byte) note {
	m := binary.LittleEndian.Uint64(b[8:])
	return note{binary.LittleEndian.Uint64(b), noteKind(m >> 56), uint8(m >> 48), level(m >> 44 & 15),
		time.Duration(m&(1<<44-1)) * time.Microsecond}
}

// journal is the writer's end.
type journal struct {
	f     *os.File
	epoch time.Time
	mu    sync.Mutex
	err   error
}

func journalName(dir string, owner uint8, life uint16) string {
	return filepath.Join(dir, fmt.Sprintf("%d.%d", owner, life))
}

func newJournal(dir string, owner uint8, life uint16, epoch time.Time) (*journal, error) {
	f, err := os.OpenFile(journalName(dir, owner, life), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return &journal{f: f, epoch: epoch}, err
}

func (j *journal) note(kind noteKind, word uint64, to uint8, l level) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var b [noteSize]byte
	_, err := j.f.Write(note{word, kind, to, l, time.Since(j.epoch)}.append(b[:0]))
	j.err = errors.Join(j.err, err)
}

// reader is the reader's end. It continues where it stopped.
type reader struct {
	f    *os.File
	rest []byte
}

// next calls f with each record that was not yet read.
func (r *reader) next(f func(note)) error {
	var b [64 << 10]byte
	for {
		n, err := r.f.Read(b[:])
		r.rest = append(r.rest, b[:n]...)
		for len(r.rest) >= noteSize {
			f(noteOf(r.rest))
			r.rest = r.rest[noteSize:]
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
