package program

import (
	"bytes"
	"sync"
)

// Output collects what a program prints. The zero value is ready.
type Output struct {
	mu    sync.Mutex
	text  []byte
	heard int           // length of the lines that next has returned, in bytes
	more  chan struct{} // closed when there is more text; nil if no caller waits
}

// Write collects output of the program.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, b...)
	if o.more != nil {
		close(o.more)
		o.more = nil
	}
	return len(b), nil
}

// String returns the output so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

// next returns the next line without its end, or a channel that is closed when there is more text.
func (o *Output) next() (line string, more <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if text, _, whole := bytes.Cut(o.text[o.heard:], []byte("\n")); whole {
		o.heard += len(text) + 1
		return string(text), nil
	}
	if o.more == nil {
		o.more = make(chan struct{})
	}
	return "", o.more
}
