package fabric

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"gofabric/cmd/internal/capture"
)

// filmFrames is how many frames may wait to be written; more are left out and counted.
const filmFrames = 8192

// endTime is how long what waits at the end of a capture may take to be written.
const endTime = 10 * time.Second

// Ends of a link at which frames are captured.
const (
	atSender   = "sent"    // all that enter the link
	atReceiver = "arrived" // what comes out of it
)

// film is a capture of a link, written by a goroutine of its own: a slow disk loses frames of the capture, not of the fabric.
type film struct {
	name   string // of the file
	point  string
	frames chan shot
	missed atomic.Uint64
	done   chan struct{}
	err    error // after done
	file   io.Closer

	once sync.Once
}

type shot struct {
	at   time.Time
	side int // 0 from a to b, 1 from b to a
	b    []byte
}

// newFilm begins a capture into w, which it closes.
func newFilm(name, point string, w io.WriteCloser, sides [2]string) *film {
	m := &film{name: name, point: point, frames: make(chan shot, filmFrames), done: make(chan struct{}), file: w}
	go m.develop(w, sides)
	return m
}

// shoot records a frame.
func (m *film) shoot(p *pipe, b []byte, point string) {
	if point != m.point {
		return
	}
	select {
	case m.frames <- shot{time.Now(), p.number & 1, append([]byte(nil), b...)}:
	default:
		m.missed.Add(1)
	}
}

// develop writes what was recorded, and puts it on disk whenever nothing waits.
func (m *film) develop(w io.WriteCloser, sides [2]string) {
	defer close(m.done)
	out, err := capture.NewWriter(w, sides[:])
	for s := range m.frames {
		if err == nil {
			err = out.Write(s.side, s.at, s.b)
		}
		if err == nil && len(m.frames) == 0 {
			err = out.Flush()
		}
	}
	if err == nil {
		err = out.Flush()
	}
	m.err = errors.Join(err, w.Close())
}

// end finishes the capture; nothing may be recorded any more.
func (m *film) end() error {
	m.once.Do(func() { close(m.frames) })
	select {
	case <-m.done:
	case <-time.After(endTime): // a pipe that nobody reads
		m.file.Close()
		<-m.done
	}
	if m.err != nil {
		return fmt.Errorf("the capture %s: %w", m.name, m.err)
	}
	return nil
}
