package hostile

// A flood of connections that takes all descriptors of a process.

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/test/conform"
	"gofabric/test/program"
)

const (
	childVar   = "HOSTILE_FLOOD_CHILD"
	floodLimit = 96 // descriptors that the child may have
)

// TestFloodChild is the process under attack. It has few descriptors and executes its parent's commands.
func TestFloodChild(t *testing.T) {
	name := os.Getenv(childVar)
	if name == "" {
		t.Skip("runs only as a child of TestFlood")
	}
	var st conform.Stack
	for _, s := range stacks {
		if s.Name == name {
			st = s
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: floodLimit, Max: floodLimit}); err != nil {
		t.Fatal(err)
	}
	p := open(t, st)
	p.Ping(1)
	fmt.Printf("ADDR %s\n", p.B.Addr.IP)
	in := bufio.NewScanner(os.Stdin)
	seq := uint64(100)
	for in.Scan() {
		seq++
		switch in.Text() {
		case "ping":
			p.Ping(seq)
		case "open": // more endpoints than there are descriptors: Open must fail
			if err := exhaust(p); !errors.Is(err, core.ErrMFile) {
				t.Fatalf("opening endpoints without descriptors: %v; want ErrMFile", err)
			}
			p.Ping(seq)
		case "fresh":
			// The flood's descriptors are free as soon as the child notices the end of its connections. Those still in
			// the listen queue are accepted and closed meanwhile.
			end := time.Now().Add(conform.Deadline)
			for calm := 0; calm < 20 && time.Now().Before(end); calm++ {
				p.Progress()
				if n, _ := os.ReadDir("/proc/self/fd"); len(n) >= floodLimit/2 {
					calm = 0
				}
				time.Sleep(time.Millisecond) // calm is twenty looks, a millisecond apart, in a row
			}
			fresh(t, p)
			p.Ping(seq)
		}
		if t.Failed() {
			break
		}
		fmt.Println("OK")
	}
	p.Forget()
}

// exhaust opens endpoints until one is refused, and closes them all.
func exhaust(p *conform.Pair) (err error) {
	var eps []*core.Endpoint
	defer func() {
		for _, ep := range eps {
			if e := ep.Close(); e != nil && err == nil {
				err = e
			}
		}
	}()
	for range 2 * floodLimit {
		ep, err := p.A.Domain.OpenEndpoint(p.A.Info)
		if err != nil {
			return err
		}
		eps = append(eps, ep)
		p.A.BindAll(ep)
		if err := ep.Enable(); err != nil {
			return err
		}
		if p.Stack.EPType == core.EPTypeMsg { // a MSG endpoint may create its socket when it connects
			if err := ep.Connect(p.B.Addr, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestFlood(t *testing.T) {
	for _, st := range stacks {
		t.Run(st.Name, func(t *testing.T) {
			conform.NoLeaks(t)
			cmd := exec.Command(os.Args[0], "-test.run=^TestFloodChild$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), childVar+"="+st.Name)
			c := child{program.Talk(t, cmd)}
			addr := strings.TrimPrefix(c.Expect("ADDR "), "ADDR ")
			var flood []net.Conn
			for i := range 3 * floodLimit {
				conn, err := net.DialTimeout("tcp", addr, time.Second)
				if err != nil {
					continue // the backlog may be full
				}
				flood = append(flood, conn)
				if i%3 == 1 {
					_, _ = conn.Write([]byte{3, 0, 0, 200})
				}
				if i%32 == 0 {
					c.do("ping")
				}
			}
			c.do("ping")
			c.do("open")
			for _, conn := range flood {
				conn.Close()
			}
			c.do("ping")
			c.do("fresh")
			c.HangUp()
		})
	}
}

type child struct{ *program.Program }

// do sends a command and waits until it is executed.
func (c child) do(cmd string) {
	c.Tell(cmd)
	c.Expect("OK")
}
