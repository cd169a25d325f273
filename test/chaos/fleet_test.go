package chaos

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"gofabric/test/program"
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
	*program.Program
	life   int
	killed bool
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
	f.procs[i] = &proc{Program: program.Talk(f.t, cmd), life: life}
	f.procs[i].Mute() // reports
}

// kill ends node i without a word.
func (f *fleet) kill(i int) {
	f.procs[i].killed = true
	f.procs[i].Kill()
}

// ask gives each living node a command and returns the answers, nil for the dead.
func (f *fleet) ask(command string) []*report {
	f.t.Helper()
	all := make([]*report, len(f.procs))
	for _, p := range f.procs {
		if !p.killed {
			p.Tell(command)
		}
	}
	left := int(patience / look)
	for i, p := range f.procs {
		if p.killed {
			continue
		}
		line, err := p.Next(look)
		for ; err == program.ErrSilent && left > 0; left-- {
			line, err = p.Next(look)
		}
		if err != nil {
			p.Blame("of node %d life %d does not answer: %v", i, p.life, err)
		}
		if err := json.Unmarshal([]byte(line), &all[i]); err != nil {
			f.t.Fatalf("node %d life %d: %v in %s", i, p.life, err, line)
		}
		for _, text := range all[i].Failures {
			f.t.Error(text)
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
	for _, p := range f.procs {
		p.Tell("quit")
		p.killed = true
		p.Ends()
	}
}
