// Command ofi has the tools of gofabric in one binary: ofi info, ofi pingpong, ofi bench and others. They have the
// flags and output of libfabric's tools if there is a counterpart. Linked as fi_info, fi_pingpong or fi_strerror,
// it is that tool.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"gofabric"
	_ "gofabric/all"
	"gofabric/internal/version"
)

func main() {
	a := &app{out: os.Stdout, errOut: os.Stderr, getInfo: gofabric.GetInfo, explain: gofabric.Explain, params: gofabric.Params}
	if tool := linked(os.Args[0]); tool != nil {
		os.Exit(tool(a, os.Args))
	}
	if err := newRootCommand(a).ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(a.errOut, "ofi:", err)
		os.Exit(exitCode(err))
	}
}

// newVersionCommand prints what ofi --version prints.
func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of ofi and of the API",
		Args:  cobra.NoArgs,
		Run:   func(*cobra.Command, []string) { a.printf("%s", version.Text("ofi")) },
	}
}

// newRootCommand adds the commands. Each has a file of its own.
func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "ofi",
		Short:         "Tools for fabrics",
		Long:          "Tools for fabrics: what is available (info, env), whether it works (pingpong), how fast it is (bench), what goes over the wire (dump), and what processes do now (top).",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(a.out)
	root.SetErr(a.errOut)
	root.SetVersionTemplate(version.Text("ofi"))
	root.AddCommand(
		newInfoCommand(a),
		newEnvCommand(a),
		newStrerrorCommand(a),
		newPingpongCommand(a),
		newDumpCommand(a),
		newBenchCommand(a),
		newTopCommand(a),
		newVersionCommand(a),
		newBenchPeerCommand(a),
	)
	return root
}
