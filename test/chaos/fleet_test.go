package chaos

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// A fleet is the processes of a test.

// patience is how long a node may take to answer a command.
const patience = bound + 10*time.Second

// look is how often it is seen whether it has: a machine that stands still for long counts for one.
const look = 100 * time.Millisecond

type fleet struct {
	t     *testing.T
	stack string
	node  string
	ports []int
	seed  uint64
	env   []string
	procs []*proc
}

// proc is a life of a node.
type proc struct {
	cmd     *exec.Cmd
	life    int
	in      io.WriteCloser
	reports chan *report
	killed  bool
}

func newFleet(t *testing.T, stack string, nodes int, seed uint64, env ...string) *fleet {
	f := &fleet{t: t, stack: stack, node: "127.0.0.1", seed: seed, env: env, procs: make([]*proc, nodes)}
	if runtime.GOOS == "linux" {
		pid := os.Getpid()
		f.node = fmt.Sprintf("127.%d.%d.%d", 129+pid>>16&63, pid>>8&255, 1+pid&127)
	}
	for range nodes {
		l, err := net.Listen("tcp", net.JoinHostPort(f.node, "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		f.ports = append(f.ports, l.Addr().(*net.TCPAddr).Port)
	}
	t.Cleanup(func() {
		for i := range f.procs {
			f.kill(i)
		}
	})
	return f
}

// start gives node i its next life.
func (f *fleet) start(i, life int) {
	f.t.Helper()
	text, err := json.Marshal(setup{Stack: f.stack, Me: i, Life: life, Node: f.node, Ports: f.ports, Seed: f.seed})
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), nodeVar+"="+string(text), "GOMAXPROCS=2", "GOTRACEBACK=all"), f.env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	p := &proc{cmd: cmd, life: life, in: in, reports: make(chan *report, 1)}
	f.procs[i] = p
	go func() {
		defer close(p.reports)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			r := &report{}
			if err := json.Unmarshal(lines.Bytes(), r); err != nil {
				return
			}
			p.reports <- r
		}
	}()
}

// kill ends node i without a word.
func (f *fleet) kill(i int) {
	p := f.procs[i]
	if p == nil || p.killed {
		return
	}
	p.killed = true
	p.cmd.Process.Kill()
	for range p.reports {
	}
	p.in.Close()
	p.cmd.Wait()
}

// ask gives each living node a command and returns the answers, nil for the dead.
func (f *fleet) ask(command string) []*report {
	f.t.Helper()
	all := make([]*report, len(f.procs))
	for i, p := range f.procs {
		if !p.killed {
			if _, err := io.WriteString(p.in, command+"\n"); err != nil {
				f.t.Fatalf("node %d is gone: %v", i, err)
			}
		}
	}
	looks := time.NewTicker(look)
	defer looks.Stop()
	left := int(patience / look)
	for i, p := range f.procs {
		if p.killed {
			continue
		}
		for all[i] == nil {
			select {
			case r := <-p.reports:
				if r == nil {
					f.t.Fatalf("node %d life %d has ended by itself", i, p.life)
				}
				for _, text := range r.Failures {
					f.t.Error(text)
				}
				all[i] = r
			case <-looks.C:
				if left--; left > 0 {
					continue
				}
				p.cmd.Process.Signal(syscall.SIGQUIT) // it tells what it is doing
				time.Sleep(time.Second)
				f.t.Fatalf("node %d life %d does not answer", i, p.life)
			}
		}
	}
	if f.t.Failed() {
		f.t.FailNow()
	}
	return all
}

// quit has all nodes close what they have, and end.
func (f *fleet) quit() {
	f.t.Helper()
	for i, p := range f.procs {
		io.WriteString(p.in, "quit\n")
		p.killed = true
		ended := make(chan error, 1)
		go func() {
			for range p.reports {
			}
			ended <- p.cmd.Wait()
		}()
		select {
		case err := <-ended:
			if err != nil {
				f.t.Errorf("node %d: %v", i, err)
			}
		case <-time.After(patience):
			p.cmd.Process.Signal(syscall.SIGQUIT)
			f.t.Errorf("node %d does not end: %v", i, <-ended)
		}
	}
}
