// A descriptor that can be made readable.

package netx

import (
	"sync"
	"sync/atomic"
)

// Notifier is a descriptor that is readable from Signal until Reset. An application can put it into its own poll
// set (FI_WAIT_FD, fi_cq(3)), and it wakes a Parker. All methods may be called at any time from any goroutine.
type Notifier struct {
	signalled atomic.Bool
	mu        sync.Mutex // orders the system calls before Close
	fd, write FD         // the two ends; the same descriptor on systems where one descriptor serves as both
}

// NewNotifier opens a Notifier that is not signalled.
func NewNotifier() (*Notifier, error) {
	fd, write, err := openSignal()
	if err != nil {
		return nil, err
	}
	return &Notifier{fd: fd, write: write}, nil
}

// FD returns the descriptor to poll for reading, -1 once closed. The application that polls it must not read from
// it.
func (n *Notifier) FD() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return int(n.fd)
}

// Signal makes the descriptor readable. It costs a few nanoseconds if the descriptor is readable already, otherwise
// a system call. It does not allocate.
func (n *Notifier) Signal() {
	// A swap and not a load: what the caller wrote before Signal must be visible to the goroutine that calls Reset
	// after it.
	if n.signalled.Swap(true) {
		return
	}
	n.mu.Lock()
	if n.fd != NoFD {
		raiseSignal(n.write)
	}
	n.mu.Unlock()
}

// Reset makes the descriptor unreadable again. Callers look for work after Reset and not before it, as a Signal
// during Reset may count as one before it.
func (n *Notifier) Reset() {
	n.mu.Lock()
	if n.fd != NoFD {
		lowerSignal(n.fd)
	}
	// The flag is cleared after the read. In the other order, the read could take away a Signal in between while
	// the flag stays set, and all later Signals would have no effect.
	n.signalled.Swap(false)
	n.mu.Unlock()
}

// Close closes the descriptor. Later calls do nothing.
func (n *Notifier) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fd == NoFD {
		return nil
	}
	err := Close(n.fd)
	if n.write != n.fd {
		if e := Close(n.write); err == nil {
			err = e
		}
	}
	n.fd, n.write = NoFD, NoFD
	return err
}
