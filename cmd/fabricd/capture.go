package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"gofabric/internal/fabricd/api"
)

// newCaptureCommand writes the frames of a link of the emulated fabric to a file.
func newCaptureCommand() *cobra.Command {
	c := api.Capture{}
	var limit time.Duration
	cmd := &cobra.Command{
		Use:     "capture LINK FILE",
		Short:   "Write the frames of a link of the emulated fabric into a pcapng file, until interrupted",
		Long:    "Write the frames of a link of the emulated fabric into a pcapng file until interrupted. The file has an interface for each direction of the link; ofi dump and Wireshark read it.",
		Example: "  fabricd capture n1-n2 both.pcapng\n  fabricd capture n1-n2 --point arrived --for 10s out.pcapng && ofi dump out.pcapng",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if c.File, err = filepath.Abs(args[1]); err != nil {
				return err
			}
			path := "/links/" + url.PathEscape(args[0]) + "/capture"
			if err := ask(cmd, "POST", path, &c, nil); err != nil {
				return err
			}
			ctx := cmd.Context()
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			} else {
				fmt.Fprintln(cmd.ErrOrStderr(), "capturing", args[0], "into", c.File+"; Ctrl-C ends it")
			}
			<-ctx.Done()
			cmd.SetContext(context.WithoutCancel(ctx))
			var done api.Captured
			if err := ask(cmd, "DELETE", path, nil, &done); err != nil {
				return err
			}
			if done.Missed > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "%d frames are not in the file: they came faster than it could be written\n", done.Missed)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&c.Point, "point", "sent", "sent: all frames that enter the link; arrived: those that come out of it")
	cmd.Flags().DurationVar(&limit, "for", 0, "stop after this time")
	return cmd
}
