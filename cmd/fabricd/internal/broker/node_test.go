//go:build linux

package broker

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/fabricd"
	"gofabric/internal/netx"
	"gofabric/internal/xdp"
	"gofabric/internal/xdp/door"
	"gofabric/test/cable"
	"gofabric/test/need"
	"gofabric/test/program"
)

// nodeVar makes the test's program a daemon ("daemon", and its flags in nodeArgs) or a process that borrows ("client", and its address).
const (
	nodeVar = "GOFABRIC_BROKER_NODE"
	argsVar = "GOFABRIC_BROKER_ARGS"
)

func TestMain(m *testing.M) {
	switch os.Getenv(nodeVar) {
	case "daemon":
		daemonMain()
	case "client":
		clientMain(netip.MustParseAddrPort(os.Getenv(argsVar)))
	default:
		os.Exit(m.Run())
	}
}

func daemonMain() {
	var c daemon.Config
	fs := pflag.NewFlagSet("daemon", pflag.ExitOnError)
	c.Flags(fs)
	fs.Parse(strings.Fields(os.Getenv(argsVar)))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := daemon.New(&c, slog.New(slog.NewTextHandler(os.Stderr, nil)), New()).Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// clientMain answers datagrams: with an x at the beginning those that came past the kernel's stack, with an s those that came to the socket.
func clientMain(at netip.AddrPort) {
	s, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		fmt.Println("refused", err)
		return
	}
	raw, _ := s.SyscallConn()
	var p *xdp.Port
	before, _ := xdp.Look(cable.End, xdp.Config{})
	raw.Control(func(fd uintptr) {
		var i *xdp.Interface
		if i, err = xdp.Open(cable.End, xdp.Config{}); err == nil {
			p, err = i.BindFor(netx.FD(fd), at)
		}
	})
	if err != nil {
		probe := xdp.Probe(cable.End, xdp.Config{})
		fmt.Println("refused", err, "probe:", probe != nil && errorsAlike(err, probe))
		return
	}
	if after := p.Interface().Prospect(); !before.Lent || !after.Lent || before.Open || !after.Open || before.Single == nil || after.Single == nil || p.Single() {
		fmt.Println("refused: before, it was", before, "now it is", after)
		return
	}
	go func() {
		b := make([]byte, 2000)
		for {
			n, from, err := s.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			b[0] = 's'
			s.WriteToUDPAddrPort(b[:n], from)
		}
	}()
	fmt.Println("ready", p.Interface())
	var f, g [64]xdp.Frame
	for {
		unix.Poll([]unix.PollFd{{Fd: int32(p.FD()), Events: unix.POLLIN}}, 1000)
		n := p.Receive(f[:])
		m := p.Reserve(g[:n])
		for k := range m {
			g[k].Data = g[k].Data[:copy(g[k].Data, f[k].Data)]
			turn(g[k].Data)
		}
		p.Release(f[:n])
		p.Submit(g[:m])
		p.Flush()
	}
}

// errorsAlike: what a probe says is what opening said, the first words at least.
func errorsAlike(a, b error) bool {
	x, _, _ := strings.Cut(a.Error(), "(")
	y, _, _ := strings.Cut(b.Error(), "(")
	return x == y
}

// turn makes an IPv4 frame with UDP go back, without a checksum, and an x the first byte of its payload.
func turn(b []byte) {
	if len(b) < 43 {
		return
	}
	swap := func(x, y, n int) {
		for i := range n {
			b[x+i], b[y+i] = b[y+i], b[x+i]
		}
	}
	swap(0, 6, 6)
	swap(14+12, 14+16, 4)
	swap(34, 36, 2)
	b[40], b[41], b[42] = 0, 0, 'x'
}

// site is where daemon and clients meet: a folder, and the program, that everybody may read.
type site struct {
	t    *testing.T
	dir  string
	self string
}

func newSite(t *testing.T) *site {
	t.Helper()
	need.Root(t, "lending AF_XDP")
	dir, err := os.MkdirTemp("", "broker")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	s := &site{t: t, dir: dir, self: filepath.Join(dir, "node")}
	from, err := os.Open("/proc/self/exe")
	must(t, err)
	defer from.Close()
	to, err := os.OpenFile(s.self, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(to, from)
	must(t, err)
	must(t, to.Close())
	return s
}

// start starts a process in the thread's network namespace.
func (s *site) start(what, args string, uid uint32) *program.Program {
	s.t.Helper()
	c := exec.Command(s.self)
	c.Env = append(os.Environ(), nodeVar+"="+what, argsVar+"="+args, fabricd.EnvDir+"="+s.dir)
	c.Stderr = os.Stderr
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, Pdeathsig: syscall.SIGKILL}
	return program.Start(s.t, c)
}

// daemon starts a daemon with flags and waits until it listens.
func (s *site) daemon(flags string) *program.Program {
	s.t.Helper()
	c := s.start("daemon", "--dir "+s.dir+" --state-dir off "+flags, 0)
	c.Until("it listens", func() bool {
		conn, err := door.Dial(filepath.Join(s.dir, fabricd.XDP))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return c
}

// client starts a process that borrows as a user, and returns what it says.
func (s *site) client(at netip.AddrPort, uid uint32) (*program.Program, string) {
	s.t.Helper()
	c := s.start("client", at.String(), uid)
	return c, c.Line()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
