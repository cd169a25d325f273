//go:build linux

package samehost

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"gofabric"
	"gofabric/internal/telemetry"
	"gofabric/test/journal"
	"gofabric/test/need"
)

const (
	childVar  = "GOFABRIC_SAMEHOST_CHILD" // the stack; the process sends back what it receives
	otherUser = 4711                      // another user
	container = -1                        // root of a user namespace, where that is the other user

	small, smalls = 64, 80 // more than are exchanged before a connection moves to a local socket
	large, larges = 1 << 20, 8
)

func TestMain(m *testing.M) {
	if stack := os.Getenv(childVar); stack != "" {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		err := answer(ctx, stack)
		cancel()
		if err != nil {
			fmt.Fprintln(os.Stderr, "the other process:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// answer is the main function of the other process. It prints its address, reads that of its peer, and sends back what
// it receives.
func answer(ctx context.Context, stack string) error {
	if stack == "knock" {
		return knock()
	}
	provider, typ, _ := strings.Cut(stack, "/")
	in := bufio.NewScanner(os.Stdin)
	if typ == "msg" {
		l, err := gofabric.Listen(ctx, "127.0.0.1:0", gofabric.Config{Provider: provider})
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		ep, err := l.Accept(ctx)
		if err != nil {
			return err
		}
		return echo(ctx, ep, gofabric.Connected)
	}
	ep, err := gofabric.Open(ctx, gofabric.Config{Provider: provider, Node: "127.0.0.1"})
	if err != nil {
		return err
	}
	fmt.Println(ep.Name())
	if !in.Scan() {
		return io.ErrUnexpectedEOF
	}
	to, err := ep.Insert(in.Text())
	if err != nil {
		return err
	}
	return echo(ctx, ep, to)
}

func echo(ctx context.Context, ep *gofabric.Endpoint, to gofabric.Peer) error {
	defer ep.Close()
	buf := make([]byte, large)
	for range smalls + larges {
		r, err := ep.Recv(ctx, gofabric.AnyPeer, buf)
		if err != nil {
			return err
		}
		if err := ep.Send(ctx, to, buf[:r.Len]); err != nil {
			return err
		}
	}
	return nil
}

// other starts the other process with the rights of a user, or as root of a user namespace. It returns the process'
// address, and a writer for that of its peer.
func other(t *testing.T, stack string, uid int) (addr string, in io.Writer, wait func() error, pid int) {
	t.Helper()
	exe, err := os.Open("/proc/self/exe") // the other user may not read the folder of the program
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	cmd := exec.Command("/proc/self/fd/3")
	cmd.Dir, cmd.ExtraFiles, cmd.Stderr = "/", []*os.File{exe}, os.Stderr
	cmd.Env = append(os.Environ(), childVar+"="+stack)
	switch uid {
	case os.Geteuid():
	case container:
		ids := []syscall.SysProcIDMap{{HostID: otherUser, Size: 1}}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids,
			Credential: &syscall.Credential{}}
	default:
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(line), "fi_sockaddr_in://"), w, cmd.Wait, cmd.Process.Pid
}

// talk sends small messages and then large ones, receives them back and checks them. Then the other process ends. It
// returns how many bytes had left through connections before the last message, and whether memory is shared then.
func talk(t *testing.T, ctx context.Context, ep *gofabric.Endpoint, to gofabric.Peer) (through uint64, shared bool) {
	t.Helper()
	buf := make([]byte, large)
	for i := range smalls + larges {
		size := small
		if i >= smalls {
			size = large
		}
		msg := bytes.Repeat([]byte{byte(i), byte(i >> 8), 7}, size/3+1)[:size]
		if i == smalls+larges-1 {
			through, shared = sent(), mapped(t)
		}
		if err := ep.Send(ctx, to, msg); err != nil {
			t.Fatal(err)
		}
		r, err := ep.Recv(ctx, gofabric.AnyPeer, buf)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(buf[:r.Len], msg) {
			t.Fatalf("message %d came back with another content", i)
		}
	}
	return through, shared
}

// open opens our end and sends its address to the other process.
func open(t *testing.T, ctx context.Context, stack, addr string, in io.Writer) (*gofabric.Endpoint, gofabric.Peer) {
	t.Helper()
	provider, typ, _ := strings.Cut(stack, "/")
	var ep *gofabric.Endpoint
	to, err := gofabric.Connected, error(nil)
	if typ == "msg" {
		ep, err = gofabric.Dial(ctx, addr, gofabric.Config{Provider: provider})
	} else if ep, err = gofabric.Open(ctx, gofabric.Config{Provider: provider, Node: "127.0.0.1"}); err == nil {
		if to, err = ep.Insert(addr); err == nil {
			_, err = fmt.Fprintln(in, strings.TrimPrefix(ep.Name().String(), "fi_sockaddr_in://"))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ep.Close() })
	return ep, to
}

// sent returns how many bytes have left through connections.
func sent() (n uint64) {
	for _, e := range telemetry.Collect().Endpoints {
		n += e.Counters["datagram_bytes.sent"]
		for _, p := range e.Peers {
			n += p.Counters["stream_bytes.out"]
		}
	}
	return n
}

// mapped reports whether memory is shared.
func mapped(t *testing.T) bool {
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(b, []byte("memfd:gofabric"))
}

// TestUsers checks that between processes of one user connections move to local sockets and large messages are copied
// out of the sender's memory. Between processes of two users, even if one is root, all bytes go through the
// connection, as between two hosts. The local socket and the copies are refused and logged. Root of a container is
// another user if the container has a user namespace of its own.
func TestUsers(t *testing.T) {
	for _, stack := range stacks {
		for name, uid := range map[string]int{"same": os.Geteuid(), "another": otherUser, "container": container} {
			t.Run(stack+"/"+name, func(t *testing.T) {
				foreign := uid != os.Geteuid()
				if foreign {
					need.Root(t, "a process of another user")
				}
				j := journal.Listen(t)
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				addr, in, wait, pid := other(t, stack, uid)
				copies, streams := journal.Refused("copies"), journal.Refused("stream")
				ep, to := open(t, ctx, stack, addr, in)
				through, shared := talk(t, ctx, ep, to)
				copies, streams = journal.Refused("copies")-copies, journal.Refused("stream")-streams
				if err := wait(); err != nil {
					t.Error(err)
				}
				if !foreign {
					if through > larges*large/2 {
						t.Errorf("%d bytes went through the connection although they could be copied", through)
					}
					if tcp := strings.HasPrefix(stack, "tcp"); tcp && !shared {
						t.Error("no memory is shared")
					}
					if copies+streams > 0 {
						t.Errorf("%d and %d refused: %s", copies, streams, j)
					}
					return
				}
				if through < (larges-1)*large {
					t.Errorf("only %d bytes went through the connection", through)
				}
				if shared {
					t.Error("memory is shared with another user")
				}
				if copies == 0 {
					t.Error("no process was refused")
				}
				j.Want("it belongs to another user", fmt.Sprintf("uid=%d ", otherUser), fmt.Sprintf("pid=%d ", pid))
			})
		}
	}
}

// TestBetween has a third process forward every byte between two processes. Everything that it says is true except its
// identity. Neither process may read the other's memory on its behalf.
func TestBetween(t *testing.T) {
	t.Setenv("FI_TCP_LOCAL_SOCKETS", "0") // otherwise the two move to a local socket before there is a large message
	j := journal.Listen(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	addr, in, wait, pid := other(t, "tcp/msg", os.Geteuid())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var passed [2]atomic.Int64
	go func() {
		a, err := l.Accept()
		if err != nil {
			return
		}
		defer a.Close()
		b, err := net.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			return
		}
		go pass(a, b, &passed[0])
		pass(b, a, &passed[1])
	}()
	ep, to := open(t, ctx, "tcp/msg", l.Addr().String(), in)
	before := journal.Refused("copies")
	talk(t, ctx, ep, to)
	for i := range passed {
		if n := passed[i].Load(); n < larges*large {
			t.Errorf("direction %d: %d bytes were forwarded, the rest was read elsewhere", i, n)
		}
	}
	if journal.Refused("copies") == before {
		t.Error("no process was refused")
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
	j.Want("it names another connection than the one that announced it", fmt.Sprintf("pid=%d ", pid))
}

// pass forwards bytes and counts them.
func pass(from, to net.Conn, n *atomic.Int64) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		k, err := from.Read(buf)
		if k > 0 {
			n.Add(int64(k))
			if _, err := to.Write(buf[:k]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
