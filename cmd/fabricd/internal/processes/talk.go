package processes

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/telemetry"
	"gofabric/internal/telemetry/report"
)

// acceptPause is the pause after a failure to accept, such as a lack of descriptors.
const acceptPause = 100 * time.Millisecond

// accept accepts processes until the listener closes.
func (p *part) accept(ctx context.Context) {
	for {
		conn, err := p.l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			p.log.Warn("accept", "error", err)
			time.Sleep(acceptPause)
			continue
		}
		who, ok := daemon.Peer(conn)
		if !ok || !p.unidentified.add(who.UID) {
			p.c.refused.Inc()
			conn.Close()
			continue
		}
		p.wg.Go(func() { p.serve(ctx, conn, who) })
	}
}

// unidentified counts, by user, the connections of processes that have not identified themselves, so that one user's
// connections cannot keep other users out.
type unidentified struct {
	mu    sync.Mutex
	users map[int]int
	all   int
}

// come counts one more. It returns false if there are too many.
func (s *unidentified) add(uid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= maxProcesses || s.users[uid] >= maxUnidentified {
		return false
	}
	if s.users == nil {
		s.users = map[int]int{}
	}
	s.users[uid]++
	s.all++
	return true
}

// leave counts one fewer.
func (s *unidentified) remove(uid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users[uid]--; s.users[uid] == 0 {
		delete(s.users, uid)
	}
	s.all--
}

// serve communicates with one process.
func (p *part) serve(ctx context.Context, conn net.Conn, who daemon.Caller) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	m, err := p.meet(conn, who)
	p.unidentified.remove(who.UID)
	if err != nil {
		p.c.refused.Inc()
		p.log.Debug("a process was refused", "error", err)
		return
	}
	defer p.t.remove(m)
	p.log.Debug("a process connected", "pid", m.pid, "name", m.name)
	err = p.ask(ctx, m)
	p.log.Debug("a process disconnected", "pid", m.pid, "name", m.name, "reason", err)
}

// meet receives the first message, which identifies the process.
func (p *part) meet(conn net.Conn, who daemon.Caller) (*member, error) {
	conn.SetReadDeadline(time.Now().Add(helloTime))
	in := &deadlineReader{conn: conn}
	m := &member{conn: conn, in: in, buf: bufio.NewReader(in), pid: who.PID, uid: who.UID, wanted: make(chan struct{}, 1), next: make(chan struct{})}
	var r report.Reply
	if err := report.ReadFrame(m.buf, &r, report.MaxRequest); err != nil {
		return nil, err
	}
	if r.Process == nil || r.Process.Version != telemetry.Version {
		return nil, errors.New("it has another version of the protocol")
	}
	m.name, m.command, m.since = telemetry.Clip(r.Process.Name), telemetry.Clip(r.Process.Command), r.Process.Since
	if m.since.After(time.Now()) {
		m.since = time.Now()
	}
	if why := p.t.add(m); why != "" {
		return nil, errors.New(why)
	}
	return m, nil
}

var errNoAnswer = errors.New("it has not answered for a long time")

// ask asks the process for its figures, whenever a client needs them, until the connection ends.
func (p *part) ask(ctx context.Context, m *member) error {
	for seq := uint64(1); ; seq++ {
		select {
		case <-m.wanted:
		case <-ctx.Done():
			return ctx.Err()
		}
		m.conn.SetWriteDeadline(time.Now().Add(helloTime))
		if err := report.WriteFrame(m.conn, report.Request{Version: telemetry.Version, Seq: seq}, report.MaxRequest); err != nil {
			return err
		}
		said, err := p.answer(m, seq)
		if err != nil {
			return err
		}
		check(said)
		p.t.heard(m, said)
	}
}

// answer waits for the answer to a request. If the first byte takes long, the process is silent. The rest must
// follow quickly.
func (p *part) answer(m *member, seq uint64) (*telemetry.Process, error) {
	for {
		m.in.some, m.in.late = m.buf.Buffered() > 0, func() bool { return !p.t.becomeSilent(m) }
		var r report.Reply
		if err := report.ReadFrame(m.buf, &r, report.MaxFrame); err != nil {
			return nil, err
		}
		switch {
		case r.Process == nil || r.Process.Version != telemetry.Version:
			return nil, errors.New("its answer has another version of the protocol")
		case r.Seq == seq:
			return r.Process, nil
		case r.Seq > seq:
			return nil, errors.New("it answered a request that was not sent")
		}
	}
}

// deadlineReader reads with a deadline for each piece. It calls late to ask whether to continue while no data has
// come. If late is nil, the connection's deadline applies.
type deadlineReader struct {
	conn net.Conn
	late func() bool
	some bool
}

func (r *deadlineReader) Read(b []byte) (int, error) {
	for {
		if r.late != nil {
			r.conn.SetReadDeadline(time.Now().Add(silentAfter))
		}
		n, err := r.conn.Read(b)
		if n > 0 || err == nil || r.late == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			r.some = r.some || n > 0
			return n, err
		}
		if r.some || !r.late() {
			return 0, errNoAnswer
		}
	}
}

// pause waits. It returns false if ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
