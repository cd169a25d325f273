package main

import (
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/fabricd/api"
)

// newRunCommand runs the daemon.
func newRunCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the daemon in the foreground",
		Long: `Run the daemon in the foreground.

Each flag is also a key of the configuration file, and a variable of the environment: --log-level is log-level: and FABRICD_LOG_LEVEL. Flags override the
environment, and the environment overrides the file. On SIGHUP the daemon reads file and environment again.`,
		Example: "  fabricd run\n  fabricd run --page 127.0.0.1:7481\n  fabricd run --dir /tmp/mine & FABRICD_DIR=/tmp/mine ofi bench",
		Args:    cobra.NoArgs,
	}
	loader := daemon.NewLoader(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		limitResources()
		return serve(cmd, loader, nil)
	}
	return cmd
}

// threadsMax is the number of the daemon's threads that run at a time. The daemon shares its node with processes
// that need the processors: an event wakes no more threads than this, for any number of processors.
const threadsMax = 2

// limitResources bounds the daemon's use of processors and memory, unless the environment sets other bounds.
func limitResources() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(min(threadsMax, runtime.GOMAXPROCS(0)))
	}
}

// serve runs a daemon of all parts and of more until the command's context ends. It calls ready, unless it is nil,
// when the daemon runs, with nil if the page was not asked for.
func serve(cmd *cobra.Command, loader *daemon.Loader, ready func(page *api.Page), more ...daemon.Part) error {
	c, err := loader.Load()
	if err != nil {
		return err
	}
	var level slog.LevelVar
	log := newLog(cmd.ErrOrStderr(), c, &level)
	d := daemon.New(c, log, append(parts(c), more...)...)
	d.Ready = ready
	signal.Ignore(syscall.SIGPIPE) // the reader of the log may end without the daemon
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-hup:
				reload(d, loader, log, &level)
			case <-done:
				return
			}
		}
	}()
	return d.Run(cmd.Context())
}

// reload applies a changed configuration. A wrong configuration changes nothing.
func reload(d *daemon.Daemon, loader *daemon.Loader, log *slog.Logger, level *slog.LevelVar) {
	c, err := loader.Load()
	if err != nil {
		log.Error("the configuration stays as it was", "error", err)
		return
	}
	setLevel(level, c)
	d.Reload(c)
}

// newLog logs to standard error.
func newLog(w io.Writer, c *daemon.Config, level *slog.LevelVar) *slog.Logger {
	setLevel(level, c)
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func setLevel(v *slog.LevelVar, c *daemon.Config) {
	if l, err := c.Level(); err == nil { // Load checked it
		v.Set(l)
	}
}
