package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gofabric/internal/fabricd/api"
)

// client is the common state of commands that ask a daemon.
type client struct {
	api  *api.Client
	json bool
	cmd  *cobra.Command
}

// clientCommand returns a command that sends requests to this node's daemon.
func clientCommand(cmd *cobra.Command, run func(c *client, args []string) error) *cobra.Command {
	asJSON := cmd.Flags().Bool("json", false, "print JSON, as the API answers")
	socket := cmd.Flags().String("socket", "", "the daemon's API socket (default: in FABRICD_DIR, or where the daemons of this user and of the system have it)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := api.Dial(*socket)
		if err != nil {
			return err
		}
		defer a.Close()
		return run(&client{api: a, json: *asJSON, cmd: cmd}, args)
	}
	return cmd
}

// answerTime is the time that a daemon has for an answer that does not wait for an event.
const answerTime = 20 * time.Second

// ask sends a request. It is an error if the daemon does not answer in time: it may hang, or be stopped.
func (c *client) ask(method, path string, in, out any, wait time.Duration) error {
	limit := answerTime + wait
	ctx, cancel := context.WithTimeoutCause(c.cmd.Context(), limit, fmt.Errorf("it has not answered for %v", limit))
	defer cancel()
	err := c.api.Do(ctx, method, path, in, out)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("fabricd runs, but %w (is its process stopped? see its log)", context.Cause(ctx))
	}
	return err
}

// do sends a request. It prints the answer as JSON with --json; otherwise text prints it.
func (c *client) do(method, path string, in, out any, text func()) error {
	return c.await(method, path, in, out, 0, text)
}

// await is do for a request that waits in the daemon.
func (c *client) await(method, path string, in, out any, wait time.Duration, text func()) error {
	if err := c.ask(method, path, in, out, wait); err != nil {
		return err
	}
	if c.json {
		return c.print(out)
	}
	if text != nil {
		text()
	}
	return nil
}

func (c *client) print(v any) error {
	e := json.NewEncoder(c.cmd.OutOrStdout())
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (c *client) printf(format string, args ...any) {
	fmt.Fprintf(c.cmd.OutOrStdout(), format, args...)
}

// table prints rows in columns.
func (c *client) table(header string, rows func(w *tabwriter.Writer)) {
	w := tabwriter.NewWriter(c.cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, header)
	rows(w)
	w.Flush()
}

// left returns the remaining lifetime in words.
func left(t time.Time) string {
	if t.IsZero() {
		return "for good"
	}
	return max(time.Until(t), 0).Round(time.Second).String()
}
