package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/fabricd"
)

// newRunCommand runs the daemon.
func newRunCommand() *cobra.Command {
	c := &daemon.Config{}
	cmd := &cobra.Command{
		Use:     "run",
		Short:   "Run the daemon in the foreground",
		Example: "  fabricd run\n  fabricd run --dir /tmp/mine & FABRICD_DIR=/tmp/mine fi bench",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemon.New(c, newLog(cmd), parts(c)...).Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&c.Dir, "dir", defaultDir(), "folder of the sockets ("+fabricd.EnvDir+")")
	return cmd
}

// newLog logs to standard error.
func newLog(cmd *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
}

// defaultDir is what FABRICD_DIR says, or where clients of this user look.
func defaultDir() string {
	if dir := os.Getenv(fabricd.EnvDir); dir != "" && dir != "off" {
		return dir
	}
	return fabricd.OwnDir(os.Getuid(), os.Getenv("XDG_RUNTIME_DIR"), os.TempDir())
}
