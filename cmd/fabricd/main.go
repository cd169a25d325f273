// Command fabricd is the daemon of a node: the directory of names, the node's processes and their counters, and an
// emulated fabric for fault injection. No application needs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"gofabric/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRootCommand()
	root.SetArgs(joinPage(os.Args[1:]))
	if err := root.ExecuteContext(ctx); err != nil {
		var status exitStatus
		if errors.As(err, &status) { // of a program that has printed its own error
			os.Exit(int(status))
		}
		fmt.Fprintln(os.Stderr, "fabricd:", err)
		os.Exit(1)
	}
}

// newRootCommand adds the commands. Each has a file of its own.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "fabricd",
		Short:         "The fabric's daemon of this node",
		Long:          "The fabric's daemon of this node: a directory of names, the counters of all processes, and an emulated fabric with faults on request. Applications also work without it.",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate(version.Text("fabricd"))
	root.AddCommand(newRunCommand(), newEmulateCommand(), newTopologyCommand(), newExecCommand(), newEnterCommand(), newKeepCommand(), newLinkCommand(), newPartitionCommand(), newCaptureCommand())
	root.AddCommand(newStatusCommand(), newTokenCommand(), newPageCommand(), newStuckCommand())
	addNameCommands(root)
	return root
}

// exitStatus is an error that only contains an exit status.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }
