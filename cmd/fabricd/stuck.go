package main

import (
	"fmt"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gofabric/internal/fabricd/api"
)

// newStuckCommand shows operations that make no progress.
func newStuckCommand() *cobra.Command {
	return clientCommand(&cobra.Command{
		Use:   "stuck",
		Short: "Show what makes no progress: which process waits for which peer, over which interface, and since when",
		Long: "Show what makes no progress: operations, connects, messages for which no receive is posted, completion queues that are not read, and processes that do not answer.\n\n" +
			"Each process decides after which time without progress something counts as stuck: FI_WATCHDOG milliseconds (default 5000; 0: never).",
		Args: cobra.NoArgs,
	}, func(c *client, _ []string) error {
		var a api.Stuck
		return c.do(http.MethodGet, "/v1/stuck", nil, &a, func() {
			if len(a.Stuck) == 0 {
				c.printf("nothing is stuck\n")
				return
			}
			c.table("PROCESS\tWHAT\tPROVIDER\tINTERFACE\tLOCAL\tWAITS FOR\tFOR\tBECAUSE", func(w *tabwriter.Writer) {
				for i := range a.Stuck {
					s := &a.Stuck[i]
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", processTitle(s.Name, s.PID), s.What, s.Provider, s.Interface, s.Local, waitsFor(s), time.Since(s.Since).Round(time.Second), s.State)
				}
			})
		})
	})
}

// who returns the name of a process.
func processTitle(name string, pid int) string { return fmt.Sprintf("%s (%d)", name, pid) }

// waitsFor returns the peer and, if it is known, its process.
func waitsFor(s *api.StuckEntry) string {
	if s.PeerPID == 0 {
		return s.Peer
	}
	return s.Peer + ", " + processTitle(s.PeerName, s.PeerPID)
}
