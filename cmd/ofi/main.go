// Command ofi is the tools of gofabric in one binary: ofi info, ofi pingpong, ofi bench and others, with the flags and output of libfabric's tools where
// those have a counterpart.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"gofabric"
)

func main() {
	a := &app{out: os.Stdout, errOut: os.Stderr, getInfo: gofabric.GetInfo, explain: gofabric.Explain, params: gofabric.Params}
	if err := newRootCommand(a).ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(a.errOut, "ofi:", err)
		os.Exit(exitCode(err))
	}
}

// newRootCommand wires the commands; each has a file of its own.
func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "ofi",
		Short:         "Tools for fabrics",
		Long:          "Tools for fabrics: what there is (info, env), whether it works (pingpong), how fast it is (bench), what goes over the wire (dump), and what is going on (top).",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(a.out)
	root.SetErr(a.errOut)
	root.AddCommand(
		newInfoCommand(a),
		newEnvCommand(a),
		newStrerrorCommand(a),
		newPingpongCommand(a),
		newDumpCommand(a),
		newBenchCommand(a),
		newTopCommand(a),
		newBenchPeerCommand(a),
	)
	return root
}
