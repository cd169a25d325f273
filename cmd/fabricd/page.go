package main

import (
	"errors"

	"github.com/spf13/cobra"

	"gofabric/internal/fabricd/api"
)

// newPageCommand says where the page is.
func newPageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "page",
		Short: "Print the links to the page of the daemon that runs",
		Long: "Print the links to the page of the daemon that runs: for browsers of this node (--page of fabricd run; fabricd emulate has it by itself), and of others\n" +
			"(--listen). They hold a token which may do everything, except where --tokens names others: those are typed into the page.",
		Example: "  fabricd run --page 127.0.0.1:7480 &\n  fabricd page",
		Args:    cobra.NoArgs,
	}
	return asking(cmd, func(c *client, _ []string) error {
		var p api.Page
		err := c.do("GET", "/v1/page", nil, &p, func() {
			for _, link := range p.Links {
				c.printf("%s\n", link)
			}
		})
		if err == nil && len(p.Links) == 0 {
			err = errors.New("fabricd serves its page to nobody: run it with --page 127.0.0.1:7480")
		}
		return err
	})
}
