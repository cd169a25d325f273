package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"gofabric/core"
)

// This file has the messages between the measuring process and the peer: one line of JSON each.

// maxLine bounds a message, in bytes.
const maxLine = 1 << 16

// order is a message of the measuring process.
type order struct {
	Do     string        `json:"do"` // open, accept, team, prepare, run, close
	Stack  string        `json:"stack,omitempty"`
	Window int           `json:"window,omitempty"`
	Caps   core.Caps     `json:"caps,omitempty"` // in addition to the tests' capabilities
	Addr   string        `json:"addr,omitempty"`
	Team   []string      `json:"team,omitempty"` // addresses of all members of a group
	Work   Work          `json:"work"`
	Remote remote        `json:"remote"`
	Limit  time.Duration `json:"limit,omitempty"`
}

// reply is the peer's answer. An order to run has two: one when receives are posted, one when the run is done.
type reply struct {
	Addr   string `json:"addr,omitempty"`
	Remote remote `json:"remote"`
	Lost   uint64 `json:"lost,omitempty"` // datagrams that were dropped during the run
	Error  string `json:"error,omitempty"`
}

// lines reads and writes messages.
type lines struct {
	r *bufio.Scanner
	w *json.Encoder
}

func newLines(r io.Reader, w io.Writer) *lines {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	return &lines{s, json.NewEncoder(w)}
}

// read returns io.EOF at the end.
func (l *lines) read(v any) error {
	if !l.r.Scan() {
		if l.r.Err() != nil {
			return l.r.Err()
		}
		return io.EOF
	}
	return json.Unmarshal(l.r.Bytes(), v)
}

// Peer is the process at the other end. It executes orders from r until r ends, and answers to w.
func Peer(p Providers, r io.Reader, w io.Writer) error {
	orders := make(chan order)
	gone := make(chan error, 1)
	q := &peer{prov: p, out: newLines(r, w)}
	defer q.close()
	go func() { // reads ahead, to notice the end of the other process during a measurement
		for {
			var o order
			if err := q.out.read(&o); err != nil {
				gone <- err
				q.abort()
				return
			}
			select {
			case orders <- o:
			case <-time.After(time.Minute):
				gone <- errors.New("the other process received orders faster than it could execute them")
				q.abort()
				return
			}
		}
	}()
	for {
		select {
		case err := <-gone:
			if err == io.EOF {
				return nil
			}
			return err
		case o := <-orders:
			a, err := q.obey(o)
			if err != nil {
				a.Error = err.Error()
			}
			if err := q.out.w.Encode(a); err != nil {
				return err
			}
		}
	}
}

// peer is the state of Peer.
type peer struct {
	prov  Providers
	out   *lines
	side  *side
	guard guard
}

func (q *peer) abort() { q.guard.stop() }

func (q *peer) close() {
	if q.side != nil {
		q.guard.set(nil)
		q.side.close()
		q.side = nil
	}
}

func (q *peer) obey(o order) (reply, error) {
	if q.side == nil && o.Do != "open" {
		return reply{}, fmt.Errorf("order %q without endpoint", o.Do)
	}
	switch o.Do {
	case "open":
		return q.open(o)
	case "accept":
		if q.side.stack.Type == core.EPTypeMsg {
			return reply{}, q.side.accept()
		}
		a, err := core.ParseAddr(o.Addr)
		if err != nil {
			return reply{}, err
		}
		return reply{}, q.side.join(a)
	case "team":
		return reply{}, q.side.meet(o.Team)
	case "prepare":
		q.side.remote = o.Remote
		r, err := q.side.prepare(o.Work.Test)
		return reply{Remote: r}, err
	case "run":
		stop := q.side.limit(o.Limit)
		defer stop()
		if err := q.side.arm(o.Work, false); err != nil {
			return reply{}, err
		}
		if err := q.out.w.Encode(reply{}); err != nil {
			return reply{}, err
		}
		before := q.side.lost()
		_, err := q.side.run(o.Work, false, nil)
		return reply{Lost: q.side.lost() - before}, err
	case "close":
		q.close()
		return reply{}, nil
	}
	return reply{}, fmt.Errorf("unknown order %q", o.Do)
}

func (q *peer) open(o order) (reply, error) {
	q.close()
	stack, err := ParseStack(o.Stack)
	if err != nil {
		return reply{}, err
	}
	if q.side, err = newSide(q.prov, stack, o.Window, o.Caps); err != nil {
		return reply{}, err
	}
	q.guard.set(q.side)
	a, err := q.side.listen()
	return reply{Addr: a.String()}, err
}
