// A descriptor that can be made readable.

package netx

import (
	"sync"
	"sync/atomic"
)

// Notifier is a descriptor that is readable from Signal until Reset: what an application puts into its own poll set (FI_WAIT_FD, fi_cq(3)), and what
// wakes a Parker. All methods may be called at any time from any goroutine.
type Notifier struct {
	signalled atomic.Bool
	mu        sync.Mutex // orders the system calls against Close
	fd, write FD         // the two ends; the same descriptor where the system has one for both
}

// NewNotifier opens one, not signalled.
func NewNotifier() (*Notifier, error) {
	fd, write, err := openSignal()
	if err != nil {
		return nil, err
	}
	return &Notifier{fd: fd, write: write}, nil
}

// FD is the descriptor to poll for reading, -1 once closed. Whoever polls it must not read from it.
func (n *Notifier) FD() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return int(n.fd)
}

// Signal makes the descriptor readable. It costs a few nanoseconds when it is already, else a system call; it does not allocate.
func (n *Notifier) Signal() {
	// A swap, not a load: what the caller wrote before Signal must be visible to whoever calls Reset after it.
	if n.signalled.Swap(true) {
		return
	}
	n.mu.Lock()
	if n.fd != NoFD {
		raiseSignal(n.write)
	}
	n.mu.Unlock()
}

// Reset makes the descriptor unreadable again. Look for work after Reset, not before: a Signal that comes during Reset may count as one that came
// before it.
func (n *Notifier) Reset() {
	n.mu.Lock()
	if n.fd != NoFD {
		lowerSignal(n.fd)
	}
	// Only after the read: were it the other way round, a Signal in between would be read away while the flag stays set, and all later
	// ones would be swallowed.
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
