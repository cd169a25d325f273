package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"gofabric/cmd/fabricd/internal/daemon"
)

// newTokenCommand makes a token for the TCP side.
func newTokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token for clients over TCP",
		Long: `Make a token for clients over TCP. Standard output gets the entry for the file of tokens (fabricd run --tokens), which does not hold the token itself; standard
error gets the token, once.`,
		Example: "  fabricd token ci --rights read,write --uid 1000 >> /etc/fabricd.tokens && systemctl reload fabricd",
		Args:    cobra.ExactArgs(1),
	}
	rights := cmd.Flags().StringSlice("rights", []string{"read"}, "read, write (what the user of --uid may), admin (what root may)")
	uid := cmd.Flags().Int("uid", os.Getuid(), "whose entries the token's changes are")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		token, entry := daemon.NewToken(args[0], *uid, *rights...)
		if err := entry.Check(); err != nil {
			return err
		}
		text, err := yaml.Marshal([]daemon.Token{entry})
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", token)
		_, err = cmd.OutOrStdout().Write(text)
		return err
	}
	return cmd
}

// newPageCommand says where the page is.
func newPageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "page",
		Short:   "Print the link to the page, with the daemon's own token",
		Long:    "Print the link to the page of a daemon that runs with --listen. Give it the same settings. The link holds the daemon's own token, which may do everything.",
		Example: "  fabricd run --listen 127.0.0.1:7480 &\n  fabricd page --listen 127.0.0.1:7480",
		Args:    cobra.NoArgs,
	}
	loader := daemon.NewLoader(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := loader.Load()
		if err != nil {
			return err
		}
		link, err := c.PageURL()
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), link)
		return nil
	}
	return cmd
}
