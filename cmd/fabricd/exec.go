package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gofabric/internal/fabricd"
	"gofabric/internal/fabricd/api"
)

// newExecCommand runs programs in nodes of the emulated fabric.
func newExecCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec NODE -- program [args]",
		Short: "Run a program in a node of the emulated fabric",
		Long: "Run a program in a node of the emulated fabric, with this terminal, folder and environment; its exit status is that of this command. The program ends when the fabric ends.\n" +
			fabricd.EnvDir + " is set, so that the program finds the daemon, and FI_..._SINGLE_COPY_SIZE=-1, so that messages cross the emulated links although the nodes share a host.",
		Example: "  fabricd exec n1 -- ip addr\n  fabricd exec n2 -- ofi pingpong -p 'udp;ofi_rxd' -e rdm &\n  fabricd exec n1 -- ofi pingpong -p 'udp;ofi_rxd' -e rdm 10.77.0.2\n" +
			"  fabricd exec n1 -- bash",
		Args: cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			program := args[1:]
			if program[0] == "--" {
				program = program[1:]
			}
			if len(program) == 0 {
				return fmt.Errorf("name a program, as in: fabricd exec %s -- ip addr", args[0])
			}
			return runInNode(args[0], program)
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// runInNode gets the way into a node from the daemon and runs the program there.
func runInNode(node string, args []string) error {
	path := fabricd.Find(fabricd.API)
	if path == "" {
		return errNoFabric
	}
	client, err := api.Dial(path)
	if err != nil {
		return err
	}
	defer client.Close()
	// Do not use the command's context: signals that end it are for the program.
	body, err := client.Open(context.Background(), "POST", "/v1/emulation/nodes/"+url.PathEscape(node)+"/programs", nil)
	if err != nil {
		return emulationError(err)
	}
	defer body.Close()
	lines := json.NewDecoder(body)
	var way api.Program
	if err := lines.Decode(&way); err != nil {
		return fmt.Errorf("fabricd at %s: %w", path, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended) // an end message and the end of the daemon have the same effect
		var end api.Program
		_ = lines.Decode(&end)
	}()
	cmd, err := entering(&way, args)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(withoutShortcuts(os.Environ()), fabricd.EnvDir+"="+dir)
	return runProgram(cmd, ended)
}

// shortcuts are the variables with the sizes from which messages between processes of one host use a single copy.
// Nodes are on one host, but stand for several. The other means of one host are found by names in a network
// namespace, and each node has its own.
var shortcuts = []string{"FI_TCP_SINGLE_COPY_SIZE", "FI_OFI_RXM_SINGLE_COPY_SIZE", "FI_OFI_RXD_SINGLE_COPY_SIZE"}

// withoutShortcuts disables the shortcuts, unless the caller has set them.
func withoutShortcuts(env []string) []string {
	for _, name := range shortcuts {
		if _, set := os.LookupEnv(name); !set {
			env = append(env, name+"=-1")
		}
	}
	return env
}
