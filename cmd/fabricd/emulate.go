package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/emulate"
	"gofabric/cmd/fabricd/internal/emulate/topology"
	"gofabric/internal/fabricd/api"
)

// newEmulateCommand runs the daemon with an emulated fabric in it.
func newEmulateCommand() *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use:   "emulate TOPOLOGY",
		Short: "Run the daemon with an emulated fabric: nodes, links and switches with faults on request",
		Long: "Run the daemon, as fabricd run does, with an emulated fabric in it: nodes are network namespaces, links and switches lose, delay, double and damage\n" +
			"frames as asked, by command and on a page for browsers (fabricd page, or --page). TOPOLOGY is a file (fabricd topology pair > mine.yaml) or one of " + strings.Join(topology.Names(), ", ") + ".\n\n" +
			"Without root's rights it runs in a user namespace of its own. When the daemon ends, for any reason, nothing of the fabric remains.",
		Example: "  fabricd emulate pair\n  fabricd page                              # in another shell, as the next ones\n  fabricd exec n1 -- ping 10.77.0.2\n  fabricd link n1-n2 --loss 5% --delay 1ms\n" +
			"  fabricd capture n1-n2 --for 10s lossy.pcapng && ofi dump lossy.pcapng",
		Args: cobra.ExactArgs(1),
	}
	loader := daemon.NewLoader(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		top, err := topology.Load(args[0])
		if err != nil {
			return err
		}
		if seed != 0 {
			top.Seed = seed
		}
		c, err := loader.Load()
		if err != nil {
			return err
		}
		if inner, err := inOwnNamespace(cmd.Context(), c); inner || err != nil {
			return err
		}
		return serve(cmd, loader, func(page *api.Page) {
			if page == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "The fabric %s runs until Ctrl-C. To see and change it in a browser, run in another shell: fabricd page\n", top.Name)
				return
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The fabric %s runs until Ctrl-C. Its page: %s\n", top.Name, page.Link)
			warn(cmd, page)
		}, emulate.New(top, isInOwnNamespace()))
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "seed of the faults, instead of the topology's")
	return cmd
}

// newTopologyCommand prints built-in topologies.
func newTopologyCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "topology [NAME]",
		Short:     "Print a ready topology, as a start for your own",
		Example:   "  fabricd topology\n  fabricd topology dumbbell > mine.yaml && fabricd emulate mine.yaml",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: topology.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, name := range topology.Names() {
					fmt.Fprintln(cmd.OutOrStdout(), name)
				}
				return nil
			}
			data, err := topology.Ready(args[0])
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(data)
			return err
		},
	}
}

// envOwn is set in a process that was started in a user namespace of its own.
const envOwn = "FABRICD_OWN_NAMESPACE"

// isInOwnNamespace reports whether this process was started so.
func isInOwnNamespace() bool { return os.Getenv(envOwn) != "" }
