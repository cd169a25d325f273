//go:build linux

package broker

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/xdp"
	"gofabric/internal/xdp/door"
)

// firstWord is how long a process may take to say what it wants, and talkTime how long to take an answer.
const (
	firstWord = 5 * time.Second
	talkTime  = 5 * time.Second
)

// client is a process that talks to the broker. Its goroutine alone uses it.
type client struct {
	p      *part
	conn   *door.Conn
	caller daemon.Caller
	index  int // of the interface that it has some of
	from   *lent
	loan   *xdp.Loan
}

func newClient(p *part, conn net.Conn, caller daemon.Caller) *client {
	return &client{p: p, conn: door.New(conn.(*net.UnixConn)), caller: caller}
}

// serve answers until the process goes, or says what is no request.
func (c *client) serve() {
	defer c.p.leave(c)
	for {
		wait := time.Time{} // who has a loan may be silent
		if c.loan == nil {
			wait = time.Now().Add(firstWord)
		}
		c.conn.SetDeadline(wait)
		var r door.Request
		files, err := c.conn.Receive(&r, 1)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.p.said.Log(c.p.log, c.caller.UID, slog.LevelInfo, "a process is cut off", "pid", c.caller.PID, "uid", c.caller.UID, "error", err)
			}
			return
		}
		a, kept, err := c.answer(&r, files)
		if !kept {
			door.CloseAll(files)
		}
		if err != nil {
			a = refusal(err)
			c.p.refusals.Inc()
			c.p.said.Log(c.p.log, c.caller.UID, slog.LevelInfo, "refused", "pid", c.caller.PID, "uid", c.caller.UID, "what", r.Op, "interface", r.Interface, "error", err)
		}
		c.conn.SetDeadline(time.Now().Add(talkTime))
		if a.Terms != nil {
			err = c.conn.Send(a, c.loan.Files()...)
		} else {
			err = c.conn.Send(a)
		}
		if err != nil {
			return
		}
	}
}

// refusal is how an error is told.
func refusal(err error) door.Answer {
	a := door.Answer{Refusal: err.Error()}
	if e := (*xdp.Error)(nil); errors.As(err, &e) {
		a.Reason, a.Refusal = int(e.Reason), e.Reason.Error() // the process finds the words itself
		if e.Err != nil {
			a.Refusal = e.Err.Error()
		}
	}
	return a
}

// answer does what a request asks for. kept: the descriptor beside it is in use.
func (c *client) answer(r *door.Request, files []int) (a door.Answer, kept bool, err error) {
	switch r.Op {
	case door.Ask, door.Open:
		if err = c.check(r, files); err != nil {
			return a, false, err
		}
		if r.Op == door.Ask {
			return a, false, c.p.probe(r.Interface, r.Index, xdp.Mode(r.Mode), r.Queues)
		}
		return c.open(r)
	}
	if c.loan == nil {
		return a, false, errors.New("open an interface first")
	}
	switch r.Op {
	case door.Bind:
		if len(files) != 1 {
			return a, false, errors.New("the socket that is bound to the address is missing")
		}
		err = c.loan.Bind(r.Address, files[0])
		return a, err == nil, err
	case door.Unbind:
		return a, false, c.loan.Unbind(r.Address)
	case door.MTU:
		return a, false, c.from.Refresh()
	}
	return a, false, errors.New("no such request")
}

// check is what has to hold for a process to borrow at all.
func (c *client) check(r *door.Request, files []int) error {
	c.p.mu.Lock()
	may := c.p.policy.allows(c.caller)
	c.p.mu.Unlock()
	switch {
	case !may:
		return &xdp.Error{Interface: r.Interface, Reason: xdp.NotAllowed}
	case len(files) != 1:
		return errors.New("a socket that shows the network namespace is missing")
	case c.loan != nil:
		return errors.New("one interface for each conversation")
	case r.Queues < 0 || r.Queues > door.QueuesMax || r.Mode < int(xdp.Auto) || r.Mode > int(xdp.Generic) || len(r.Interface) >= unix.IFNAMSIZ:
		return errors.New("numbers that cannot be")
	}
	if err := xdp.SameHost(files[0]); err != nil {
		return err
	}
	if ifc, err := net.InterfaceByName(r.Interface); err != nil || ifc.Index != r.Index {
		return &xdp.Error{Interface: r.Interface, Reason: xdp.NoInterface, Err: err}
	}
	return nil
}

// open lends an interface.
func (c *client) open(r *door.Request) (a door.Answer, kept bool, err error) {
	from, loan, err := c.p.borrow(r.Interface, r.Index, xdp.Mode(r.Mode), r.Queues)
	if err != nil {
		return a, false, err
	}
	c.index, c.from, c.loan = r.Index, from, loan
	a.Terms = loan.Terms()
	c.p.loans.Inc()
	c.p.log.Info("lent", "interface", r.Interface, "queues", a.Terms.Queues, "pid", c.caller.PID, "uid", c.caller.UID)
	return a, false, nil
}
