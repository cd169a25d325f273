package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gofabric/cmd/ofi/internal/top"
	"gofabric/internal/fabricd/api"
)

// topFlags are the flags of ofi top.
type topFlags struct {
	app    *app
	once   bool
	json   bool
	peers  bool
	every  time.Duration
	socket string
}

// newTopCommand is ofi top: it shows the activity of this node's endpoints.
func newTopCommand(a *app) *cobra.Command {
	f := &topFlags{app: a}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show what the endpoints of this node's processes do, live",
		Long: "Show what the endpoints of this node's processes do, and with whom: rates, queues, retransmissions, what is stuck. The figures come from the daemon fabricd,\n" +
			"to which processes connect by themselves (start it with: fabricd run). Other users' endpoints are shown to root only. Ctrl-C ends it.",
		Example: "  ofi top\n  ofi top --once --json | jq '.rows[] | select(.stalls > 0)'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&f.once, "once", false, "print one table and stop; it takes the time of --interval")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON, a value for each table")
	cmd.Flags().BoolVar(&f.peers, "peers", true, "show the peers of each endpoint")
	cmd.Flags().DurationVarP(&f.every, "interval", "i", 2*time.Second, "time between two tables")
	cmd.Flags().StringVar(&f.socket, "socket", "", "the daemon's API socket (default: in FABRICD_DIR, or where the daemons of this user and of the system have it)")
	return cmd
}

// Control sequences of a terminal (ECMA-48): switch to the alternate screen without a cursor and back; move to the
// top; clear from the cursor on.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
	clearRest   = "\x1b[J"
	clearLine   = "\x1b[K\n"
)

func (f *topFlags) run(ctx context.Context) error {
	if f.every < 100*time.Millisecond {
		return errors.New("the interval is at least 100ms")
	}
	c, err := api.Dial(f.socket)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	before, err := look(ctx, c)
	if err != nil {
		return err
	}
	_, _, terminal := f.terminal()
	live := terminal && !f.once && !f.json
	if live {
		f.app.printf(enterScreen)
		defer f.app.printf(leaveScreen)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.every):
		}
		now, err := look(ctx, c)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !live:
			return err
		case err != nil: // fabricd may restart
			f.app.printf("%s%v%s", toTop, err, clearLine+clearRest)
			continue
		}
		if err := f.show(before, now, live); err != nil || f.once {
			return err
		}
		before = now
	}
}

// look reads the figures from the daemon.
func look(ctx context.Context, c *api.Client) (*top.Look, error) {
	l := &top.Look{At: time.Now()}
	return l, c.Do(ctx, http.MethodGet, "/v1/processes", nil, &l.Processes)
}

// show prints the activity between two samples.
func (f *topFlags) show(before, now *top.Look, live bool) error {
	rows := top.Rows(before, now, f.peers)
	if f.json {
		if rows == nil {
			rows = []top.Row{}
		}
		return f.app.json(struct {
			At   time.Time `json:"at"`
			Rows []top.Row `json:"rows"`
		}{now.At, rows})
	}
	if !live {
		f.app.printf("%s", headline(now))
		top.Table(f.app.out, rows, 0, 0)
		return nil
	}
	width, height, _ := f.terminal()
	var b bytes.Buffer
	b.WriteString(headline(now))
	top.Table(&b, rows, width, height-2)
	f.app.printf("%s%s%s", toTop, bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte(clearLine)), clearRest)
	return nil
}

// headline counts processes, endpoints and stalls.
func headline(l *top.Look) string {
	endpoints, stalls := 0, 0
	for _, p := range l.Processes.Processes {
		endpoints += len(p.Endpoints) + p.More
		stalls += len(p.Stalls)
	}
	return fmt.Sprintf("%s  %d processes, %d endpoints, %d stuck\n", l.At.Format(time.TimeOnly), len(l.Processes.Processes), endpoints, stalls)
}

// terminal returns the size of the terminal that output goes to, or false if it goes elsewhere.
func (f *topFlags) terminal() (width, height int, ok bool) {
	o, isFile := f.app.out.(*os.File)
	if !isFile {
		return 0, 0, false
	}
	width, height, err := windowSize(o)
	if err != nil || height < 4 {
		return 0, 0, false
	}
	return width, height, true
}
