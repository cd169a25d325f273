package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gofabric/internal/fabricd/api"
)

// newPartitionCommand separates nodes of the emulated fabric.
func newPartitionCommand() *cobra.Command {
	var heal bool
	cmd := &cobra.Command{
		Use:     "partition GROUP...",
		Short:   "Separate groups of nodes of the emulated fabric, or end that",
		Long:    "Separate groups of nodes of the emulated fabric: frames between nodes of different groups are lost. Nodes in no group form one more group.",
		Example: "  fabricd partition n1,n2 n3,n4\n  fabricd partition n1          # n1 from all the others\n  fabricd partition --heal",
		RunE: func(cmd *cobra.Command, args []string) error {
			var e api.Emulation
			switch {
			case heal == (len(args) > 0):
				return errors.New("give groups, as in n1,n2 n3, or --heal")
			case heal:
				return ask(cmd, "DELETE", "/partition", nil, &e)
			}
			var p api.Partition
			for _, g := range args {
				p.Groups = append(p.Groups, strings.Split(g, ","))
			}
			if err := ask(cmd, "PUT", "/partition", &p, &e); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "separated:", e.Partitions)
			return nil
		},
	}
	cmd.Flags().BoolVar(&heal, "heal", false, "all nodes reach each other again")
	return cmd
}
