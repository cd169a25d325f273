package processes

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"gofabric"
	_ "gofabric/all"
	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
	"gofabric/internal/telemetry"
	"gofabric/test/parallel"
	"gofabric/test/program"
	"gofabric/test/wait"
)

// envRole has the role of this process: the test program is also the daemon and the processes of the tests.
const envRole = "GOFABRIC_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role, stack, _ := strings.Cut(os.Getenv(envRole), " "); role {
	case "daemon":
		c := &daemon.Config{Dir: os.Getenv(fabricd.EnvDir), Connections: 64, ConnectionsPerUser: 64}
		fmt.Fprintln(os.Stderr, daemon.New(c, slog.New(slog.NewTextHandler(os.Stderr, nil)), New()).Run(context.Background()))
		os.Exit(1)
	case "peer":
		if err := peer(stack); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	default:
		parallel.Run(8)
		goleak.VerifyTestMain(m)
	}
}

// peer is a process with an endpoint. It prints its address, receives all messages, and sends when it reads "send
// ADDRESS BYTES".
func peer(stack string) error {
	ctx := context.Background()
	ep, err := gofabric.Open(ctx, gofabric.Config{Provider: stack, Node: "127.0.0.1"})
	if err != nil {
		return err
	}
	defer ep.Close()
	fmt.Println(ep.Name().IP)
	if os.Getenv("GOFABRIC_TEST_DEAF") == "" {
		go func() {
			buf := make([]byte, 32<<20)
			for _, err := range ep.Messages(ctx, gofabric.AnyPeer, buf) {
				if err != nil {
					return
				}
			}
		}()
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var to string
		var n int
		if _, err := fmt.Sscanf(in.Text(), "send %s %d", &to, &n); err != nil {
			return err
		}
		p, err := ep.Insert(to)
		if err != nil {
			return err
		}
		if err := ep.Send(ctx, p, make([]byte, n)); err != nil {
			return err
		}
		fmt.Println("sent")
	}
	return in.Err()
}

// node is a daemon's folder, and the processes that use it.
type node struct {
	t   *testing.T
	dir string
	env []string
	c   *api.Client
}

func newNode(t *testing.T, env ...string) *node {
	n := &node{t: t, dir: t.TempDir(), env: env}
	c, err := api.Dial(filepath.Join(n.dir, fabricd.API))
	if err != nil {
		t.Fatal(err)
	}
	n.c = c
	t.Cleanup(c.Close)
	return n
}

// command returns the test program in a role.
func (n *node) command(role string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(append(os.Environ(), fabricd.EnvDir+"="+n.dir, envRole+"="+role), n.env...), env...)
	return cmd
}

// daemon starts the daemon and waits until it answers.
func (n *node) daemon() *program.Program {
	n.t.Helper()
	d := program.Start(n.t, n.command("daemon"))
	d.Until("the daemon answers", func() bool {
		return n.c.Do(n.t.Context(), http.MethodGet, "/v1/status", nil, nil) == nil
	})
	return d
}

// process starts a process with an endpoint.
func (n *node) process(stack string, env ...string) *proc {
	n.t.Helper()
	p := &proc{program.Talk(n.t, n.command("peer "+stack, env...)), n.t, ""}
	p.addr = p.line()
	return p
}

// proc is a process with an endpoint.
type proc struct {
	*program.Program
	t    *testing.T
	addr string
}

func (p *proc) line() string {
	p.t.Helper()
	line := p.Line()
	if strings.HasPrefix(line, "error:") {
		p.t.Fatal(line)
	}
	return line
}

func (p *proc) send(to *proc, bytes int) { p.Tell(fmt.Sprintf("send %s %d", to.addr, bytes)) }

// about returns the daemon's record of a process, or nil.
func (n *node) about(p *proc) *telemetry.Process {
	var a api.Processes
	if n.c.Do(n.t.Context(), http.MethodGet, "/v1/processes", nil, &a) != nil {
		return nil
	}
	for _, q := range a.Processes {
		if q.PID == p.Cmd.Process.Pid && len(q.Totals) > 0 {
			return q
		}
	}
	return nil
}

func (n *node) stuck(what string, p *proc) *api.StuckEntry {
	var a api.Stuck
	if err := n.c.Do(n.t.Context(), http.MethodGet, "/v1/stuck", nil, &a); err != nil {
		n.t.Fatal(err)
	}
	for i := range a.Stuck {
		if s := &a.Stuck[i]; s.PID == p.Cmd.Process.Pid && s.What == what {
			return s
		}
	}
	return nil
}

func (n *node) scrape() string {
	body, err := n.c.Open(n.t.Context(), http.MethodGet, "/metrics", nil)
	if err != nil {
		n.t.Fatal(err)
	}
	defer body.Close()
	b, err := io.ReadAll(body)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(b)
}

// TestProcesses: two processes exchange messages, and the daemon shows their counters. The daemon is killed and
// started again, and shows them again. The processes are not affected.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for _, stack := range []string{"tcp", "tcp;ofi_rxm", "udp;ofi_rxd"} {
		t.Run(stack, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, telemetry.EnvName+"=of the test")
			d := n.daemon()
			a, b := n.process(stack), n.process(stack)
			for range 10 {
				a.send(b, 1000)
				a.line()
			}
			sent := func(p *proc, op string) func() bool {
				return func() bool { q := n.about(p); return q != nil && q.Totals[0].Counters["bytes."+op] == 10000 }
			}
			wait.Until(t, "the sender counts its sends", sent(a, "send"))
			wait.Until(t, "the receiver counts its receives", sent(b, "receive"))
			q := n.about(a)
			if q.Name != "of the test" || q.UID != os.Getuid() || len(q.Endpoints) != 1 || q.Endpoints[0].Provider != stack || q.Endpoints[0].Address != a.addr ||
				q.Endpoints[0].Interface == "" || len(q.Endpoints[0].Peers) != 1 || q.Endpoints[0].Peers[0].Address != b.addr || len(q.Stalls) != 0 {
				t.Errorf("the sender: %+v", q)
			}
			for _, want := range []string{
				fmt.Sprintf("gofabric_operations_total{op=\"send\",pid=\"%d\",process=\"of the test\",provider=%q} 10\n", a.Cmd.Process.Pid, stack), "fabricd_processes 2\n",
				fmt.Sprintf("gofabric_operation_seconds_count{op=\"send\",pid=\"%d\"", a.Cmd.Process.Pid),
			} {
				if s := n.scrape(); !strings.Contains(s, want) {
					t.Errorf("the scrape lacks %s:\n%s", want, s)
				}
			}
			d.Kill()
			a.send(b, 1000)
			if a.line() != "sent" {
				t.Error("the end of the daemon affects the process")
			}
			n.daemon()
			wait.Until(t, "the processes register again", func() bool {
				q := n.about(a)
				return q != nil && q.Totals[0].Counters["bytes.send"] == 11000 && n.about(b) != nil
			})
		})
	}
}

// TestStuck: one process waits for another, which is stopped. The daemon shows both, and shows neither when the
// wait is over.
func TestStuck(t *testing.T) {
	t.Parallel()
	for _, stack := range []string{"tcp", "tcp;ofi_rxm", "udp;ofi_rxd"} {
		t.Run(stack, func(t *testing.T) {
			t.Parallel()
			// No time-out may end the operations that the daemon is to show as stuck, even on a machine under heavy
			// load.
			n := newNode(t, telemetry.EnvWatchdog+"=700", "FI_TCP_PEER_TIMEOUT=0", "FI_OFI_RXD_PEER_TIMEOUT=600000")
			n.daemon()
			a, b := n.process(stack), n.process(stack)
			a.send(b, 1000)
			a.line()
			wait.Until(t, "the daemon has both processes", func() bool {
				return n.about(a) != nil && n.about(b) != nil
			})
			b.Signal(syscall.SIGSTOP)
			a.send(b, 32<<20)
			wait.Until(t, "the send is stuck", func() bool { return n.stuck("send", a) != nil })
			s := n.stuck("send", a)
			if s.Provider != stack || s.Local != a.addr || s.Peer != b.addr || s.PeerPID != b.Cmd.Process.Pid ||
				s.State == "" || s.Interface == "" || time.Since(s.Since) < 700*time.Millisecond {
				t.Errorf("stuck: %+v", s)
			}
			if stack == "tcp" { // this takes seconds
				wait.Until(t, "the stopped process is silent", func() bool { return n.stuck("process", b) != nil })
				if s := n.stuck("process", b); runtime.GOOS == "linux" && !strings.Contains(s.State, "was stopped") {
					t.Errorf("the process that was stopped: %+v", s)
				}
			}
			wait.Until(t, "the metrics count the send", func() bool { // the daemon counts when it looks next
				s := n.scrape()
				return strings.Contains(s, `gofabric_stalls{pid="`+fmt.Sprint(a.Cmd.Process.Pid)) && strings.Contains(s, `fabricd_stalls_total{what="send"}`)
			})
			b.Signal(syscall.SIGCONT)
			if a.line() != "sent" {
				t.Error("the send does not end")
			}
			wait.Until(t, "nothing is stuck", func() bool {
				return n.stuck("send", a) == nil && n.stuck("process", b) == nil
			})
		})
	}
}

// TestUnwanted: messages are not received. The daemon shows that the sender waits, and that the receiver posts no
// receives.
func TestUnwanted(t *testing.T) {
	t.Parallel()
	n := newNode(t, telemetry.EnvWatchdog+"=300")
	n.daemon()
	a, b := n.process("tcp"), n.process("tcp", "GOFABRIC_TEST_DEAF=1", "FI_TCP_UNEXP_BYTES=65536")
	for range 3 {
		a.send(b, 32<<20)
	}
	wait.Until(t, "the send is stuck", func() bool { return n.stuck("send", a) != nil })
	wait.Until(t, "the receiver shows that it lacks receives", func() bool {
		s := n.stuck("receive", b)
		return s != nil && s.Peer != "" && s.Bytes > 0
	})
}

// TestConnect: a peer accepts a connection and sends nothing. The daemon shows that the connection does not come
// up.
func TestConnect(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, stack := range []string{"tcp", "tcp;ofi_rxm"} {
		n := newNode(t, telemetry.EnvWatchdog+"=300")
		n.daemon()
		a := n.process(stack)
		a.send(&proc{addr: l.Addr().String()}, 1000)
		wait.Until(t, "the connect is stuck", func() bool {
			s := n.stuck("connect", a)
			return s != nil && s.Peer == l.Addr().String() && strings.Contains(s.State, "operations wait")
		})
	}
}

// TestHostile: the answers of a process that are too long, incomplete or false are shortened, or its connection is
// closed. Other processes are not affected.
func TestHostile(t *testing.T) {
	t.Parallel()
	p := &telemetry.Process{Name: strings.Repeat("n", 10000), Totals: make([]telemetry.Total, 1000), Endpoints: make([]telemetry.Endpoint, 1000), Stalls: make([]telemetry.Stall, 1000),
		More: -5, Stalled: map[string]uint64{"send": 1, "nonsense": 2}}
	for i := range p.Totals {
		p.Totals[i] = telemetry.Total{Provider: fmt.Sprint("p", i), Counters: telemetry.Counts{"operations.send": 1, "operations.X\"": 1, "operations": 1, "bogus": 1, "lost.x": 1},
			Histograms: map[string]telemetry.Histogram{"send": {Schema: telemetry.Schema, Buckets: map[int]uint64{1 << 20: 1, 0: 7}}, "X": {}, "read": {Schema: 99}}}
	}
	p.Totals[1].Provider = p.Totals[0].Provider
	for i := range p.Endpoints {
		p.Endpoints[i].Peers = make([]telemetry.Peer, 1000)
		p.Endpoints[i].Address = "bad\xff\n" + strings.Repeat("x", 1000)
	}
	check(p)
	if len(p.Totals) >= telemetry.MaxTotals || len(p.Endpoints) != telemetry.MaxEndpoints ||
		len(p.Stalls) != telemetry.MaxStalls || p.More != 1000-telemetry.MaxEndpoints || len(p.Stalled) != 1 {
		t.Errorf("%d totals, %d endpoints, %d stalls, %d more, %v",
			len(p.Totals), len(p.Endpoints), len(p.Stalls), p.More, p.Stalled)
	}
	if c, h := p.Totals[0].Counters, p.Totals[0].Histograms; len(c) != 1 || c["operations.send"] != 1 ||
		len(h) != 1 || len(h["send"].Buckets) != 1 || h["send"].Buckets[0] != 7 {
		t.Errorf("counters %v, histograms %v", c, h)
	}
	peers := 0
	for _, e := range p.Endpoints {
		peers += len(e.Peers)
		if len(e.Address) > telemetry.MaxText || strings.Contains(e.Address, "\n") || !utf8.ValidString(e.Address) {
			t.Errorf("the address %q", e.Address)
		}
	}
	if peers > telemetry.MaxAllPeers+telemetry.MaxEndpoints {
		t.Errorf("%d peers", peers)
	}
	// What is left can be scraped.
	p.Name = telemetry.Clip(p.Name)
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(p))
	if _, err := r.Gather(); err != nil {
		t.Error(err)
	}
}
