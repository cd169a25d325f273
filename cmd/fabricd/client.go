package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gofabric/internal/fabricd/api"
)

// client is what commands that ask a daemon have in common.
type client struct {
	api  *api.Client
	json bool
	cmd  *cobra.Command
}

// asking makes a command that talks to this node's daemon.
func asking(cmd *cobra.Command, run func(c *client, args []string) error) *cobra.Command {
	asJSON := cmd.Flags().Bool("json", false, "print JSON, as the API answers")
	socket := cmd.Flags().String("socket", "", "the daemon's API socket (default: look in FABRICD_DIR, or where daemons of this user and the system are)")
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

// do asks, and prints the answer as JSON if that is wanted; otherwise text prints it.
func (c *client) do(method, path string, in, out any, text func()) error {
	if err := c.api.Do(c.cmd.Context(), method, path, in, out); err != nil {
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

// left is how long something lives, for people.
func left(t time.Time) string {
	if t.IsZero() {
		return "for good"
	}
	return max(time.Until(t), 0).Round(time.Second).String()
}
