package program

import (
	"strings"
	"sync"
)

// Output collects what a program prints. The zero value is ready.
type Output struct {
	mu    sync.Mutex
	text  []byte
	heard int           // bytes of text up to the line that was found last
	more  chan struct{} // closed when there is more text; nil while nobody waits
}

// Write takes what the program prints.
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

// String is what the program has printed until now.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

// next looks for words behind the line that was found last, and returns what to wait for if they are not there.
func (o *Output) next(words string) (found bool, more <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for line := range strings.Lines(string(o.text[o.heard:])) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		o.heard += len(line)
		if strings.Contains(line, words) {
			return true, nil
		}
	}
	if o.more == nil {
		o.more = make(chan struct{})
	}
	return false, o.more
}
