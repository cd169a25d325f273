package dropin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"gofabric/test/program"
)

// side is fi_pingpong on one of the two libraries.
type side struct {
	name string
	env  []string
}

// TestPingpong runs Debian's fi_pingpong, with its check of data, on the library: at both ends, and at one end with
// the system's library at the other.
func TestPingpong(t *testing.T) {
	needs(t, "fi_pingpong")
	ours, system := side{"ours", onOurs(t)}, side{"system's", onSystem}
	program, _ := exec.LookPath("fi_pingpong")
	loads(t, program)
	for _, s := range stacks {
		provider := s.provider
		if s == (stack{"tcp", "rdm"}) {
			provider = "net" // the name of xnet's own RDM endpoints before libfabric 1.18
		}
		there := provider != "net" || exec.Command("fi_info", "-p", provider).Run() == nil
		for _, ends := range [][2]side{{ours, ours}, {ours, system}, {system, ours}} {
			if (ends[0].name == system.name || ends[1].name == system.name) && !there {
				continue
			}
			t.Run(fmt.Sprintf("%v server on %s client on %s", s, ends[0].name, ends[1].name), func(t *testing.T) {
				t.Parallel()
				pingpong(t, s, provider, ends[0], ends[1])
			})
		}
	}
}

func pingpong(t *testing.T, s stack, systems string, server, client side) {
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	port := program.FreePort(t)
	args := func(at side) []string {
		p := s.provider
		if at.name == "system's" {
			p = systems
		}
		mode := "msg"
		if s.kind == "rdm" && server.name == client.name { // tags are used only if both ends run the same library
			mode = "tagged"
		}
		return []string{"-c", "-I", "5", "-p", p, "-e", s.kind, "-m", mode}
	}
	if server.name == "system's" {
		server.env = append(server.env, "FI_PROVIDER="+systems) // its other providers take long to start
	}
	if client.name == "system's" {
		client.env = append(client.env, "FI_PROVIDER="+systems)
	}
	p := start(ctx, t, server.env, "fi_pingpong", slices.Concat([]string{"-B", port}, args(server))...)
	p.AwaitListener(port)
	c := start(ctx, t, client.env, "fi_pingpong",
		slices.Concat([]string{"-P", port}, args(client), []string{"127.0.0.1"})...)
	if c.Wait() != nil { // the server may never notice
		cancel()
	}
	if p.Wait() != nil || c.Wait() != nil {
		t.Fatalf("server: %v\nclient: %v", p.Wait(), c.Wait())
	}
	for _, table := range []string{p.String(), c.String()} {
		lines := strings.Split(strings.TrimSpace(table), "\n")
		if len(lines) < 4 || !strings.HasPrefix(lines[0], "bytes   #sent   #ack ") {
			t.Fatalf("the output has no table:\n%s", table)
		}
		for _, line := range lines[1:] {
			if f := strings.Fields(line); len(f) != 8 || f[1] != "5" || f[2] != "=5" {
				t.Errorf("unexpected line %q", line)
			}
		}
	}
}

// TestMapped checks which library a running program has mapped.
func TestMapped(t *testing.T) {
	needs(t, "fi_pingpong")
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	// The program waits for a client.
	p := start(ctx, t, onOurs(t), "fi_pingpong", "-B", program.FreePort(t), "-p", "tcp", "-e", "msg")
	defer func() { cancel(); p.Wait() }()
	for {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.Cmd.Process.Pid))
		if err != nil || !p.Running() || ctx.Err() != nil {
			t.Fatalf("the library is not mapped: %v\n%s", err, maps)
		}
		if strings.Contains(string(maps), "/libfabric.so") {
			if !strings.Contains(string(maps), library(t)) {
				t.Fatalf("another library is mapped:\n%s", maps)
			}
			return
		}
		time.Sleep(5 * time.Millisecond) // between two looks at another program
	}
}
