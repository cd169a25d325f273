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

// recordedMax is the number of frames that can wait for the file. Further ones are left out of the capture and
// counted.
const recordedMax = 8192

// endTime is the time to write the waiting frames at the end of a capture.
const endTime = 10 * time.Second

// The end of a link at which frames are captured.
const (
	atSender   = "sent"    // all frames that enter the link
	atReceiver = "arrived" // frames that leave the link
)

// recording is a capture of a link. A goroutine of its own writes it, so that a slow disk loses frames of the capture,
// not of the fabric.
type recording struct {
	name   string // of the file
	point  string
	frames chan recordedFrame
	missed atomic.Uint64
	done   chan struct{}
	err    error // valid after done
	file   io.Closer

	once sync.Once
}

type recordedFrame struct {
	at   time.Time
	side int // 0 from a to b, 1 from b to a
	b    []byte
}

// newRecording starts a capture into w, and closes w at its end.
func newRecording(name, point string, w io.WriteCloser, sides [2]string) *recording {
	m := &recording{name: name, point: point, frames: make(chan recordedFrame, recordedMax), done: make(chan struct{}), file: w}
	go m.write(w, sides)
	return m
}

// record records a frame.
func (m *recording) record(p *pipe, b []byte, point string) {
	if point != m.point {
		return
	}
	select {
	case m.frames <- recordedFrame{time.Now(), p.number & 1, append([]byte(nil), b...)}:
	default:
		m.missed.Add(1)
	}
}

// write writes the recorded frames. It syncs the file whenever no frame waits.
func (m *recording) write(w io.WriteCloser, sides [2]string) {
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

// end finishes the capture. Do not call record afterwards.
func (m *recording) end() error {
	m.once.Do(func() { close(m.frames) })
	select {
	case <-m.done:
	case <-time.After(endTime): // a pipe without a reader
		m.file.Close()
		<-m.done
	}
	if m.err != nil {
		return fmt.Errorf("the capture %s: %w", m.name, m.err)
	}
	return nil
}
