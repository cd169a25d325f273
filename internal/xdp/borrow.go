//go:build linux

package xdp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/fabricd"
	"gofabric/internal/netx"
	"gofabric/internal/xdp/door"
)

// answerTime is how long a daemon may take to answer: binding may wait for a queue that was just left.
const answerTime = busyWait + 5*time.Second

// lender is the keeper of an interface that a daemon lends. When the conversation ends, so does the loan.
type lender struct {
	mu   sync.Mutex
	conn *door.Conn
}

// borrow opens an interface through the node's daemon, for who may not, or cannot, have it for himself: own says why. What it cannot do, either, is
// own's fault if there is no daemon.
func borrow(ifc *net.Interface, id ownerID, c Config, own error) (*Interface, error) {
	l, err := dialLender(own)
	if err != nil {
		return nil, err
	}
	i := newInterface(ifc, id)
	i.keep = l
	if err = i.openLent(l, ifc, c); err != nil {
		i.end()
		return nil, named(ifc.Name, refused(err, own))
	}
	return i, nil
}

// dialLender reaches the daemon. Without one, the error is own.
func dialLender(own error) (*lender, error) {
	path := fabricd.Find(fabricd.XDP)
	if path == "" || !lendable(own) {
		return nil, own
	}
	conn, err := door.Dial(path)
	if err != nil {
		return nil, own
	}
	return &lender{conn: conn}, nil
}

// lendable reports whether a daemon may help.
func lendable(err error) bool {
	for _, r := range []Reason{NoRaw, NoBPF, NoMemlock, OtherOwner, QueueTaken} {
		if errors.Is(err, r) {
			return true
		}
	}
	return false
}

// refused is a daemon's refusal, with why it was asked.
func refused(err, own error) error {
	if why := (*Error)(nil); errors.As(own, &why) {
		own = why.Reason
	}
	own = fmt.Errorf("fabricd was asked because %w", own)
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		return fmt.Errorf("AF_XDP from fabricd: %w; %w", err, own)
	}
	switch e.Reason {
	case NoRaw, NoBPF, NoMemlock:
		own = fmt.Errorf("so fabricd says of itself; %w", own) // the hint is for who runs it
	}
	if e.Err != nil {
		own = fmt.Errorf("%w; %w", e.Err, own)
	}
	return &Error{Reason: e.Reason, Err: own}
}

// probeLent says whether the daemon would lend an interface.
func probeLent(ifc *net.Interface, c Config, own error) error {
	l, err := dialLender(own)
	if err != nil {
		return err
	}
	defer l.close()
	if _, _, err = l.ask(door.Ask, ifc, c); err != nil {
		return refused(err, own)
	}
	return nil
}

// ask asks for an interface, with a socket that shows where this thread is.
func (l *lender) ask(op string, ifc *net.Interface, c Config) (door.Answer, []int, error) {
	here, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return door.Answer{}, nil, err
	}
	defer unix.Close(here)
	return l.call(&door.Request{Op: op, Interface: ifc.Name, Index: ifc.Index, Mode: int(c.Mode), Queues: c.Queues}, door.QueuesMax+1, here)
}

// call is a request and its answer. A refusal is an *Error.
func (l *lender) call(r *door.Request, max int, files ...int) (a door.Answer, got []int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err = l.conn.SetDeadline(time.Now().Add(answerTime)); err == nil {
		if err = l.conn.Send(r, files...); err == nil {
			got, err = l.conn.Receive(&a, max)
		}
	}
	if err == nil && a.Refusal != "" {
		err = refusal(&a)
		door.CloseAll(got)
		got = nil
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the daemon has ended the conversation")
	}
	return a, got, err
}

// refusal is what a daemon's answer means: an *Error if there is a reason for it.
func refusal(a *door.Answer) error {
	if a.Reason == 0 {
		return errors.New(a.Refusal)
	}
	e := &Error{Reason: Reason(a.Reason)}
	if a.Refusal != e.Reason.Error() {
		e.Err = errors.New(a.Refusal)
	}
	return e
}

// openLent asks for the interface and takes what comes.
func (i *Interface) openLent(l *lender, ifc *net.Interface, c Config) error {
	a, files, err := l.ask(door.Open, ifc, c)
	if err != nil {
		return err
	}
	err = i.take(a.Terms, files, c)
	if err != nil {
		for k, f := range files {
			if k == 0 || k > len(i.queues) {
				unix.Close(f) // those of queues go with these
			}
		}
		return err
	}
	unix.Close(files[0])
	return i.SetMTU(ifc.MTU)
}

// take makes queues of what a daemon sent: the memory, and a socket for each. files stay the caller's, but for those of queues.
func (i *Interface) take(t *door.Terms, files []int, c Config) error {
	if t == nil || len(t.Queues) == 0 || len(files) != len(t.Queues)+1 {
		return fmt.Errorf("%d descriptors for %+v", len(files), t)
	}
	c.Queues, c.ChunkSize, c.RxFrames, c.TxFrames = len(t.Queues), t.ChunkSize, t.RxFrames, t.TxFrames
	var err error
	if i.c, err = c.complete(c.Queues, 0); err != nil {
		return err
	}
	i.mode, i.multi, i.zero = Mode(t.Mode), t.Multi, t.ZeroCopy
	if i.u, err = mapUmem(files[0], c.Queues, &i.c); err != nil {
		return err
	}
	for n, f := range files[1:] {
		s := &socket{fd: netx.FD(f), queue: t.Queues[n], multi: t.Multi, zero: t.ZeroCopy}
		if err := s.mapRings(&i.c); err != nil {
			for _, m := range s.maps {
				unix.Munmap(m)
			}
			return err
		}
		i.queues = append(i.queues, newQueue(i, s, n))
	}
	return nil
}

func (l *lender) setPort(k key, fd netx.FD) error {
	at, ok := k.address()
	if !ok || fd == netx.NoFD {
		return lack(NotYours, fmt.Errorf("%v", at))
	}
	_, _, err := l.call(&door.Request{Op: door.Bind, Address: at}, 0, int(fd))
	return err
}

func (l *lender) deletePort(k key) error {
	at, ok := k.address()
	if !ok {
		return nil // setPort did not take it
	}
	_, _, err := l.call(&door.Request{Op: door.Unbind, Address: at}, 0)
	if e := (*Error)(nil); !errors.As(err, &e) {
		return nil // a daemon that has gone took its program along: packets go to the kernel
	}
	return err
}

// setLimit leaves it to the daemon, which looks at the interface itself: the limit is that of all who have a loan.
func (l *lender) setLimit(int, bool) error {
	_, _, err := l.call(&door.Request{Op: door.MTU}, 0)
	return err
}

func (l *lender) close() { l.conn.Close() }
