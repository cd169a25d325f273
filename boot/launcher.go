package boot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"

	"gofabric/boot/internal/pmi"
)

// This file has the connection to a launcher that implements PMI.

const (
	envPMIFD   = "PMI_FD"   // the descriptor of a connection to the launcher
	envPMIPort = "PMI_PORT" // or the launcher's host:port, with PMI_ID as the first message
)

// launcher is a connection to the launcher, on which every request has one answer. After an error it is unusable,
// because the old answer may still arrive.
type launcher struct {
	conn    net.Conn
	dialect pmi.Dialect
	in      []byte // received, not parsed yet
	err     error
}

// joined says that this process has used its connection to the launcher. Its number may be another descriptor now.
var joined atomic.Bool

// dialLauncher returns the connection to the launcher.
func dialLauncher(ctx context.Context, c *Config) (*launcher, error) {
	fd, port := c.env(envPMIFD), c.env(envPMIPort)
	switch {
	case fd != "":
		n, err := strconv.Atoi(fd)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s=%.40q is not a descriptor", envPMIFD, fd)
		}
		if joined.Swap(true) {
			return nil, errors.New("this process has already joined its job; it can join once")
		}
		conn, err := inherited(n)
		if err != nil {
			return nil, fmt.Errorf("%s=%d is not a connection to a launcher: %w", envPMIFD, n, err)
		}
		return &launcher{conn: conn, dialect: pmi.V1{}}, nil
	case port != "":
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", port)
		if err != nil {
			return nil, fmt.Errorf("no connection to the launcher at %s=%.80q: %w", envPMIPort, port, err)
		}
		return &launcher{conn: conn, dialect: pmi.V1{}}, nil
	}
	return nil, fmt.Errorf("%w: neither %s nor %s is set, which launchers that speak PMI set", ErrNoJob, envPMIFD, envPMIPort)
}

// tell sends a message.
func (l *launcher) tell(ctx context.Context, m pmi.Message) error {
	if l.err != nil {
		return l.err
	}
	defer bound(ctx, l.conn)()
	if _, err := l.conn.Write(l.dialect.Append(nil, m)); err != nil {
		l.err = gone(waitedFor(ctx, "the launcher to take "+m.Get("cmd"), err))
	}
	return l.err
}

// hear receives a message.
func (l *launcher) hear(ctx context.Context, what string) (pmi.Message, error) {
	if l.err != nil {
		return nil, l.err
	}
	defer bound(ctx, l.conn)()
	var buf [4096]byte
	for {
		m, n, err := l.dialect.Next(l.in)
		if err != nil {
			l.err = err
			return nil, err
		}
		if n > 0 {
			l.in = append(l.in[:0], l.in[n:]...)
			return m, nil
		}
		if n, err = l.conn.Read(buf[:]); err != nil {
			l.err = gone(waitedFor(ctx, "the launcher's answer to "+what, err))
			return nil, l.err
		}
		l.in = append(l.in, buf[:n]...)
	}
}

// ask sends a message and receives its answer. answer is the answer's command.
func (l *launcher) ask(ctx context.Context, m pmi.Message, answer string) (pmi.Message, error) {
	if err := l.tell(ctx, m); err != nil {
		return nil, err
	}
	got, err := l.hear(ctx, m.Get("cmd"))
	if err != nil {
		return nil, err
	}
	if err = got.Check(answer); err != nil && !errors.Is(err, pmi.ErrRefused) {
		l.err = err // the next message is the answer to another request
	}
	return got, err
}

// gone explains the end of a connection.
func gone(err error) error {
	if closed(err) {
		return fmt.Errorf("the launcher has closed its connection, because it ends the job: %w", err)
	}
	return err
}
