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

Each flag is also a key of the configuration file, and a variable of the environment: --log-level is log-level: and FABRICD_LOG_LEVEL. Flags win over the
environment, the environment over the file. SIGHUP reads file and environment again.`,
		Example: "  fabricd run\n  fabricd run --page 127.0.0.1:7481\n  fabricd run --dir /tmp/mine & FABRICD_DIR=/tmp/mine ofi bench",
		Args:    cobra.NoArgs,
	}
	loader := daemon.NewLoader(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		becomeModest()
		return serve(cmd, loader, nil)
	}
	return cmd
}

// modestThreads is how many threads of the daemon run at a time, which shares its node with processes that would rather have all of it: what wakes it wakes no more
// of them, however many processors there are.
const modestThreads = 2

// becomeModest bounds what the daemon takes, unless the environment says otherwise.
func becomeModest() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(min(modestThreads, runtime.GOMAXPROCS(0)))
	}
}

// serve runs a daemon of all parts, and of more, until the command's context ends. ready, which may be nil, is called once it runs, with nil if the page was not asked for.
func serve(cmd *cobra.Command, loader *daemon.Loader, ready func(page *api.Page), more ...daemon.Part) error {
	c, err := loader.Load()
	if err != nil {
		return err
	}
	var level slog.LevelVar
	log := newLog(cmd.ErrOrStderr(), c, &level)
	d := daemon.New(c, log, append(parts(c), more...)...)
	d.Ready = ready
	signal.Ignore(syscall.SIGPIPE) // whoever reads the log may end, and need not take the daemon along
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

// reload takes up a changed configuration. One that is wrong changes nothing.
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
