package main

import (
	"errors"

	"github.com/spf13/cobra"

	"gofabric/core"
)

// newStrerrorCommand is ofi strerror: it prints the meaning of an error number.
func newStrerrorCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "strerror ERROR...",
		Short:   "Say what an error number or name means",
		Long:    "Say what error numbers mean. An error is a number (11, -11) or a name (FI_EAGAIN, EAGAIN).",
		Example: "  ofi strerror 61\n  ofi strerror FI_EAVAIL",
		// C code returns errors as negative numbers, so that -11 is an argument here. The command finds its few
		// flags itself.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			type row struct {
				Number int    `json:"number"`
				Name   string `json:"name"`
				Text   string `json:"text"`
			}
			var rows []row
			for _, arg := range args {
				switch arg {
				case "--json":
					asJSON = true
					continue
				case "--":
					continue
				case "-h", "--help":
					return cmd.Help()
				}
				e, err := core.ParseErrno(arg)
				if err != nil {
					return err
				}
				rows = append(rows, row{int(e), e.Name(), e.Error()})
			}
			if len(rows) == 0 {
				return errors.New("strerror: give the number or the name of an error")
			}
			if asJSON {
				return a.json(rows)
			}
			for _, r := range rows {
				if len(rows) == 1 {
					a.printf("%s\n", r.Text)
					break
				}
				a.printf("%d %s: %s\n", r.Number, r.Name, r.Text)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
