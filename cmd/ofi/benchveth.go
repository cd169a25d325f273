package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"gofabric/cmd/ofi/internal/bench"
)

// This file is ofi bench --veth: the same benchmark at the two ends of a veth pair, for several values of
// FI_UDP_LINK. A process reads FI_UDP_LINK once, so that each measurement has its own processes. When they end, the
// XDP program leaves the interface, before sockets and native tools are measured.

// benchReference is the link that the others are compared with.
const benchReference = "sockets"

// plugIn makes this process measure at the near end of a veth pair that another process has made.
func (f *benchFlags) plugIn(c *bench.Config) error {
	if f.ends == nil {
		return nil
	}
	if len(f.ends) != 4 && len(f.ends) != 5 {
		return fmt.Errorf("--ends wants four words, or five, not %q", f.ends)
	}
	ends := &bench.Veth{NearSpace: f.ends[0], FarSpace: f.ends[1], Near: f.ends[2], Far: f.ends[3]}
	if len(f.ends) == 5 {
		ends.Fabricd = f.ends[4]
	}
	c.Providers.Node = ends.Near
	c.Peer = func(ctx context.Context) *exec.Cmd {
		return ends.Command(ctx, true, benchProgram(), benchPeer, "--node", ends.Far)
	}
	if c.Native != nil {
		c.Native.Veth = ends
	}
	return nil
}

// overVeth makes a veth pair and starts processes that measure over it.
func (f *benchFlags) overVeth(ctx context.Context, app *app, c *bench.Config) error {
	ends, err := bench.NewVeth()
	if err != nil {
		return fmt.Errorf("--veth: %w", err)
	}
	defer ends.Close()
	var links []bench.Datapath
	for _, name := range f.links {
		if name != benchReference {
			links = append(links, bench.Datapath{Name: name})
		}
	}
	links = append(links, bench.Datapath{Name: benchReference})
	line := newLiveLine(app.errOut)
	rounds := max(c.Rounds, 1)
	for round := range rounds {
		for i := range links {
			line.show(round*len(links)+i, rounds*len(links), fmt.Sprintf("%s, round %d", links[i].Name, round+1))
			var results []bench.Result
			if results, err = f.atVeth(ctx, ends, c, links[i].Name); err != nil {
				line.clear()
				return fmt.Errorf("FI_UDP_LINK=%s: %w", links[i].Name, err)
			}
			links[i].Rounds = append(links[i].Rounds, results)
		}
	}
	line.clear()
	return f.report(app, bench.Merge(links), nil)
}

// atVeth starts a process at the near end, which makes one round of measurements.
func (f *benchFlags) atVeth(ctx context.Context, ends *bench.Veth, c *bench.Config, link string) ([]bench.Result, error) {
	args := []string{"bench", "--json", "--rounds", "1", "--time", f.time.String(), "--size", f.size, "--window", fmt.Sprint(f.window),
		"--bulk", strings.Join(f.bulk, ","), "--ends", strings.Join([]string{ends.NearSpace, ends.FarSpace, ends.Near, ends.Far}, ",")}
	for _, s := range c.Stacks {
		args = append(args, "--stack", s.String())
	}
	if len(f.tests) > 0 {
		args = append(args, "--test", strings.Join(f.tests, ","))
	}
	if c.Native != nil && link == benchReference {
		args = append(args, "--native", "--pingpong", c.Native.Pingpong, "--fabtests", c.Native.Fabtests)
	}
	cmd := ends.Command(ctx, false, benchProgram(), args...)
	cmd.Env = append(os.Environ(), "FI_UDP_LINK="+link)
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var results []bench.Result
	if e := json.Unmarshal(out.Bytes(), &results); e != nil || len(results) == 0 {
		return nil, fmt.Errorf("the measuring process: %w: %s", err, strings.TrimSpace(bad.String()))
	}
	return results, nil // results of failed tests have their error
}

// benchProgram returns the path of this program.
func benchProgram() string {
	self, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return self
}
