//go:build linux

package scale

// The crowd is a child process with thousands of raw sockets. Each uses the protocol of one RDM endpoint.

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/internal/xnet/wire"
	"gofabric/test/program"
)

const (
	peersVar  = "SCALE_PEERS" // address of the endpoint; set in the child
	peersIP   = "127.0.0.2"   // address of the peers
	firstPort = 1024          // peer i claims to listen at firstPort+i
	dialers   = 64            // connection attempts at the same time
	patience  = 60 * time.Second
)

// peersMain is the main function of the child. It executes commands from its standard input.
func peersMain() {
	c := &ipPeers{addr: os.Getenv(peersVar)}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var err error
		var n int
		switch cmd, arg, _ := strings.Cut(in.Text(), " "); cmd {
		case "connect":
			fmt.Sscan(arg, &n)
			err = c.connect(n)
		case "speak":
			err = c.each(speak)
		case "listen":
			err = c.each(listen)
		case "close":
			err = c.each(func(_ int, conn net.Conn) error { return conn.Close() })
			c.conns = nil
		}
		if err != nil {
			fmt.Println("ERROR", err)
			os.Exit(1)
		}
		fmt.Println("OK")
	}
	os.Exit(0)
}

type ipPeers struct {
	addr  string
	conns []net.Conn
}

// connect makes n connections.
func (c *ipPeers) connect(n int) error {
	c.conns = make([]net.Conn, n)
	return c.each(func(i int, _ net.Conn) error {
		d := net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: net.ParseIP(peersIP)},
			KeepAlive: -1, Control: latePort}
		conn, err := d.Dial("tcp", c.addr)
		if err != nil {
			return err
		}
		c.conns[i] = conn
		conn.SetDeadline(time.Now().Add(patience))
		blob := wire.RDMBlob{Version: 1, Port: uint16(firstPort + i), PID: uint32(i) + 1}
		if _, err := conn.Write(wire.AppendCM(nil, wire.CMConnReq, blob.Append(nil))); err != nil {
			return err
		}
		b := make([]byte, wire.CMHeaderLen+wire.RDMBlobLen)
		if _, err := io.ReadFull(conn, b); err != nil {
			return err
		}
		cm, _, err := wire.ParseCM(b)
		if err == nil && cm.Type != wire.CMConnResp {
			err = fmt.Errorf("answer of type %v", cm.Type)
		}
		return err
	})
}

// latePort lets the kernel choose the local port when it knows the destination. Otherwise ports would run out (ip(7),
// IP_BIND_ADDRESS_NO_PORT).
func latePort(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1) })
}

// each calls f for every connection, a few at a time, and returns the first error.
func (c *ipPeers) each(f func(i int, conn net.Conn) error) error {
	var wg sync.WaitGroup
	errs := make(chan error, dialers)
	for k := range dialers {
		wg.Go(func() {
			for i := k; i < len(c.conns); i += dialers {
				if err := f(i, c.conns[i]); err != nil {
					errs <- fmt.Errorf("peer %d: %w", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// speak sends the peer's number in a message.
func speak(i int, conn net.Conn) error {
	conn.SetDeadline(time.Now().Add(patience))
	h := wire.Header{Op: wire.OpMsg}
	h.SetPayload(8)
	b := h.Append(nil, wire.Little)
	_, err := conn.Write(binary.LittleEndian.AppendUint64(b, uint64(i)))
	return err
}

// listen receives one message, which must be the peer's number inverted.
func listen(i int, conn net.Conn) error {
	b := make([]byte, wire.BaseLen+8)
	if _, err := io.ReadFull(conn, b); err != nil {
		return err
	}
	if v := binary.LittleEndian.Uint64(b[wire.BaseLen:]); v != ^uint64(i) {
		return fmt.Errorf("message is %#x, want %#x", v, ^uint64(i))
	}
	return nil
}

// remote is the parent's side of a crowd.
type remote struct {
	t *testing.T
	*program.Program
}

// startPeers starts the child, which ends with the test.
func startPeers(t *testing.T, addr string) *remote {
	t.Helper()
	return startChild(t, peersVar+"="+addr)
}

// startChild starts this program with a variable that selects the main function to run.
func startChild(t *testing.T, env string) *remote {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env)
	r := &remote{t, program.Talk(t, cmd)}
	t.Cleanup(r.HangUp)
	return r
}

// order sends the crowd a command. do also waits until it is executed.
func (r *remote) order(cmd string) { r.Tell(cmd) }

func (r *remote) do(cmd string) {
	r.t.Helper()
	r.order(cmd)
	r.await()
}

// await waits until the order was carried out.
func (r *remote) await() {
	r.t.Helper()
	if line, err := r.Next(ordersLast); line != "OK" {
		r.t.Fatalf("crowd: %q, %v", line, err)
	}
}

// ordersLast is a limit for one order. A busy machine needs minutes to open ten thousand endpoints.
const ordersLast = 10 * time.Minute

// children are several processes that get the same commands.
type children interface {
	order(cmd string)
	do(cmd string)
	done() bool
}

// done reports whether the command was executed. It does not wait.
func (r *remote) done() bool {
	r.t.Helper()
	line, err := r.Next(0)
	if err == program.ErrSilent {
		return false
	}
	if line != "OK" {
		r.t.Fatalf("child: %q, %v", line, err)
	}
	return true
}
