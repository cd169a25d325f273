package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"gofabric/cmd/fabricd/internal/daemon"
)

// newTokenCommand makes a token for the API over TCP.
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
	uid := cmd.Flags().Int("uid", os.Getuid(), "user that owns the entries which clients with the token make")
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
