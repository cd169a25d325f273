package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gofabric/cmd/ofi/internal/bench"
	"gofabric/internal/fabricd/api"
)

// This file is ofi bench --nodes: the same benchmark between two nodes of the fabric that fabricd emulates. The
// measuring process runs in the first node, and starts the peer in the second.

// betweenNodes runs this command again in the first node. args are this process' arguments.
func (f *benchFlags) betweenNodes(ctx context.Context, app *app, args []string) error {
	if f.veth {
		return errors.New("--veth makes a link of its own: give --veth or --nodes, not both")
	}
	ends, err := vethBetween(ctx, f.nodes)
	if err != nil {
		return fmt.Errorf("--nodes %s: %w", f.nodes, err)
	}
	words := strings.Join([]string{ends.NearSpace, ends.FarSpace, ends.Near, ends.Far, ends.Fabricd}, ",")
	cmd := ends.Command(ctx, false, benchProgram(), append(args, "--nodes=", "--ends", words)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, app.out, app.errOut
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err = cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return errors.New("the measurement between the nodes failed; see the messages above")
	}
	return err
}

// vethBetween asks fabricd for the addresses of two nodes.
func vethBetween(ctx context.Context, nodes string) (*bench.Veth, error) {
	near, far, ok := strings.Cut(nodes, ",")
	if !ok || near == far || strings.Contains(far, ",") {
		return nil, errors.New("give two nodes, such as n1,n2")
	}
	client, err := api.Dial("")
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var e api.Emulation
	if err := client.Do(ctx, "GET", "/v1/emulation", nil, &e); err != nil {
		return nil, err
	}
	ends := &bench.Veth{NearSpace: near, FarSpace: far, Fabricd: fabricdProgram()}
	var names []string
	for _, n := range e.Nodes {
		names = append(names, n.Name)
		switch {
		case len(n.Addresses) == 0:
		case n.Name == near:
			ends.Near = n.Addresses[0]
		case n.Name == far:
			ends.Far = n.Addresses[0]
		}
	}
	if ends.Near == "" || ends.Far == "" {
		return nil, fmt.Errorf("the emulated fabric has these nodes: %s", strings.Join(names, ", "))
	}
	return ends, nil
}

// fabricdProgram returns the path of the fabricd beside this program, or of the one in PATH.
func fabricdProgram() string {
	if path, err := exec.LookPath(filepath.Join(filepath.Dir(benchProgram()), "fabricd")); err == nil {
		return path
	}
	return "fabricd"
}
