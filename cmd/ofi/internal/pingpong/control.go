package pingpong

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gofabric/core"
)

// This file is the control connection: a TCP connection, opened by the client, over which the ends exchange
// endpoint names, start each size together and compare counts. All strings include their terminating zero byte.
//
//	name   length (4 bytes, big-endian), address format (4, the host's order), the address
//	sync   client "q", server "a"
//	count  client: decimal, zero-padded to 10 bytes; server "cnt ok"
//
// Native peers read each message with one read call, so each is written with one write.

const (
	syncQuestion = "q\x00"
	syncAnswer   = "a\x00"
	countLen     = 10
	countAnswer  = "cnt ok\x00"
)

// control is an open control connection.
type control struct {
	conn    net.Conn
	timeout time.Duration
	stop    func() bool // ends the watch on the context
	ctx     context.Context
}

// openControl connects to the server, or waits for the client.
func openControl(ctx context.Context, cfg *Config) (*control, error) {
	limit := cfg.Timeout
	if !cfg.isClient() {
		limit = cfg.Wait
	}
	wait, cancel := ctx, func() {}
	if limit != NoLimit {
		wait, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	var conn net.Conn
	var err error
	if cfg.isClient() {
		conn, err = dialControl(wait, cfg)
	} else {
		conn, err = acceptControl(wait, cfg)
	}
	if err != nil {
		if cerr := context.Cause(ctx); cerr != nil {
			return nil, cerr
		}
		return nil, err
	}
	cfg.logf("control connection %v <-> %v", conn.LocalAddr(), conn.RemoteAddr())
	return newControl(ctx, conn, cfg.Timeout), nil
}

func newControl(ctx context.Context, conn net.Conn, timeout time.Duration) *control {
	c := &control{conn: conn, timeout: timeout, ctx: ctx}
	// A past deadline ends pending reads and writes.
	c.stop = context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return c
}

func portOr(p, def uint16) string { return strconv.Itoa(int(cmp.Or(p, def))) }

func (c *Config) network() string {
	if c.IPv6 {
		return "tcp6"
	}
	return "tcp4"
}

func dialControl(ctx context.Context, cfg *Config) (net.Conn, error) {
	var d net.Dialer
	if cfg.SrcPort != 0 {
		d.LocalAddr = &net.TCPAddr{Port: int(cfg.SrcPort)}
	}
	host := strings.TrimSuffix(strings.TrimPrefix(cfg.Server, "["), "]")
	addr := net.JoinHostPort(host, portOr(cfg.DstPort, DefaultPort))
	conn, err := d.DialContext(ctx, cfg.network(), addr)
	switch {
	case err == nil:
		return conn, nil
	case core.ErrnoOf(err) == core.ErrConnRefused:
		return nil, fmt.Errorf("no pingpong server listens at %s: start one there without an address, with the same options (%w)", addr, err)
	case errors.Is(err, context.DeadlineExceeded), core.ErrnoOf(err) == core.ErrTimedOut:
		return nil, fmt.Errorf("no answer from %s within %v: check the address and firewalls between the hosts (%w)", addr, cfg.Timeout, err)
	}
	return nil, fmt.Errorf("cannot connect to the pingpong server at %s: %w", addr, err)
}

func acceptControl(ctx context.Context, cfg *Config) (net.Conn, error) {
	var lc net.ListenConfig
	addr := ":" + portOr(cfg.SrcPort, DefaultPort)
	l, err := lc.Listen(ctx, cfg.network(), addr)
	if err != nil {
		if core.ErrnoOf(err) == core.ErrAddrInUse {
			return nil, fmt.Errorf("control port %s is in use: another pingpong server runs; choose another port with -B and the client's -P (%w)", addr[1:], err)
		}
		return nil, fmt.Errorf("cannot listen for the client: %w", err)
	}
	defer l.Close()
	if cfg.Listening != nil {
		cfg.Listening(l.Addr().String())
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	conn, err := l.Accept()
	if err == nil {
		return conn, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("no client connected to port %s within %v: start one with this host's address, or wait longer with --timeout", addr[1:], cfg.Wait)
	}
	return nil, fmt.Errorf("cannot accept the client's control connection: %w", err)
}

func (c *control) close() error {
	if c == nil || c.conn == nil {
		return nil
	}
	c.stop()
	conn := c.conn
	c.conn = nil
	return conn.Close()
}

// fail explains the error of a read or write. what names the operation that failed.
func (c *control) fail(what string, err error) error {
	if cerr := context.Cause(c.ctx); cerr != nil {
		return fmt.Errorf("%s: %w", what, cerr)
	}
	var ne net.Error
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), core.ErrnoOf(err) == core.ErrConnReset, errors.Is(err, syscall.EPIPE):
		return fmt.Errorf("%s: the peer %v closed the control connection: it failed or was stopped, see its output; both ends need the same -p, -e, -I and -S (%w)",
			what, c.conn.RemoteAddr(), err)
	case errors.As(err, &ne) && ne.Timeout():
		return fmt.Errorf("%s: no answer from %v within %v: the peer hangs or was stopped; both ends need the same -p, -e, -I and -S (%w)",
			what, c.conn.RemoteAddr(), c.timeout, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (c *control) arm() error {
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	return context.Cause(c.ctx) // after SetDeadline, which may have overwritten the deadline that AfterFunc set
}

func (c *control) send(what string, b []byte) error {
	if err := c.arm(); err != nil {
		return c.fail(what, err)
	}
	if _, err := c.conn.Write(b); err != nil {
		return c.fail(what, err)
	}
	return nil
}

func (c *control) recv(what string, b []byte) error {
	if err := c.arm(); err != nil {
		return c.fail(what, err)
	}
	if _, err := io.ReadFull(c.conn, b); err != nil {
		return c.fail(what, err)
	}
	return nil
}

func (c *control) expect(what, want string) error {
	got := make([]byte, len(want))
	if err := c.recv(what, got); err != nil {
		return err
	}
	if string(got) != want {
		return fmt.Errorf("%s: the peer sent %q, expected %q: it is not a pingpong, or it is at another step; both ends need the same options", what, got, want)
	}
	return nil
}

// sendName sends the address of this end to the peer.
func (c *control) sendName(format core.AddrFormat, a core.Addr) error {
	name, err := encodeName(a)
	if err != nil {
		return err
	}
	const what = "sending the endpoint's address"
	if err := c.send(what, binary.BigEndian.AppendUint32(nil, uint32(len(name)))); err != nil {
		return err
	}
	if err := c.send(what, binary.NativeEndian.AppendUint32(nil, uint32(format))); err != nil {
		return err
	}
	return c.send(what, name)
}

// recvName receives the peer's sendName.
func (c *control) recvName() (core.AddrFormat, core.Addr, error) {
	const what = "receiving the peer's endpoint address"
	var word [4]byte
	if err := c.recv(what, word[:]); err != nil {
		return 0, core.Addr{}, err
	}
	n := binary.BigEndian.Uint32(word[:])
	if n > maxNameLen {
		return 0, core.Addr{}, fmt.Errorf("%s: its length is %d, more than %d: the peer is not a pingpong", what, n, maxNameLen)
	}
	if err := c.recv(what, word[:]); err != nil {
		return 0, core.Addr{}, err
	}
	format := core.AddrFormat(binary.NativeEndian.Uint32(word[:]))
	name := make([]byte, n)
	if err := c.recv(what, name); err != nil {
		return 0, core.Addr{}, err
	}
	a, err := decodeName(format, name)
	return format, a, err
}

// sync waits until both ends are ready for the next size.
func (c *control) sync(client bool) error {
	const what = "waiting for the peer to begin"
	if client {
		if err := c.send(what, []byte(syncQuestion)); err != nil {
			return err
		}
		return c.expect(what, syncAnswer)
	}
	if err := c.expect(what, syncQuestion); err != nil {
		return err
	}
	return c.send(what, []byte(syncAnswer))
}

// exchangeCount sends the number of replies that the client got to the server. Both return that number.
func (c *control) exchangeCount(client bool, acks int) (int, error) {
	const what = "exchanging the count of replies"
	var b [countLen]byte
	if client {
		copy(b[:], strconv.Itoa(acks))
		if err := c.send(what, b[:]); err != nil {
			return 0, err
		}
		return acks, c.expect(what, countAnswer)
	}
	if err := c.recv(what, b[:]); err != nil {
		return 0, err
	}
	acks, err := strconv.Atoi(strings.TrimRight(string(b[:]), "\x00"))
	if err != nil || acks < 0 {
		return 0, fmt.Errorf("%s: the peer sent %q, which is not a number", what, b[:])
	}
	return acks, c.send(what, []byte(countAnswer))
}
