package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gofabric/internal/fabricd/api"
)

// newStatusCommand shows whether a daemon runs, and its parts.
func newStatusCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Say whether this node's daemon runs, and with which parts", Args: cobra.NoArgs}
	return clientCommand(cmd, func(c *client, _ []string) error {
		var s api.Status
		return c.do("GET", "/v1/status", nil, &s, func() {
			c.printf("fabricd runs as process %d for %s: %s\n", s.PID, time.Since(s.Started).Round(time.Second), strings.Join(s.Parts, ", "))
			for _, t := range s.Troubles {
				c.printf("trouble in %s: %s\n", t.Part, t.What)
			}
		})
	})
}
