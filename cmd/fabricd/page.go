package main

import (
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/internal/fabricd/api"
)

// newPageCommand opens the page's port and prints the link to it.
func newPageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "page",
		Short: "Make the running daemon open its page for browsers of this node, and print the link",
		Long: `Make the running daemon open its page for browsers of this node, and print the link to it; if it is open, print the link. The port is on loopback,
uses TLS, and is open until the daemon ends or --close. The link contains a token with all rights, which is invalid once the port is closed.
Only the user that runs fabricd and root may ask.

No authority vouches for the certificate: the daemon made it. So browsers ask whether to go on, and show its SHA-256 fingerprint, which this command prints.
Give it to programs, and to browsers that should not ask (docs/fabricd.md). The certificate remains the same as long as the daemon's --state-dir.

For browsers of other machines there is fabricd run --listen; the link for those is printed, too.`,
		Example: "  fabricd page\n  fabricd page --close\n  fabricd page --certificate > fabricd.crt && curl --cacert fabricd.crt -H \"Authorization: Bearer $TOKEN\" https://127.0.0.1:7481/v1/status",
		Args:    cobra.NoArgs,
	}
	shut := cmd.Flags().Bool("close", false, "close the port instead; links to it become invalid")
	certificate := cmd.Flags().Bool("certificate", false, "print the certificate instead, as PEM")
	cmd.MarkFlagsMutuallyExclusive("close", "certificate")
	return clientCommand(cmd, func(c *client, _ []string) error {
		var p api.Page
		switch {
		case *certificate:
			return c.do("GET", "/v1/page", nil, &p, func() { c.printf("%s", p.Certificate) })
		case *shut:
			return c.do("DELETE", "/v1/page", nil, &p, nil)
		}
		return c.do("PUT", "/v1/page", nil, &p, func() {
			c.printf("%s\n", p.Link)
			if p.Remote != "" {
				c.printf("%s\n", p.Remote)
			}
			warn(c.cmd, &p)
		})
	})
}

// warn explains on standard error what browsers will ask. Standard output only has the link.
func warn(cmd *cobra.Command, p *api.Page) {
	fmt.Fprintf(cmd.ErrOrStderr(), "The browser will ask whether to trust the certificate: fabricd made it, and no authority vouches for it. Go on if its SHA-256 fingerprint is\n%s\n", p.SHA256)
}

// joinPage joins --page ADDRESS to one word. For pflag, the value of a flag with an optional value must be in the
// same word; else it is an argument.
func joinPage(args []string) []string {
	if len(args) == 0 || args[0] != "run" && args[0] != "emulate" {
		return args
	}
	var joined []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--page" && i+1 < len(args) && isPage(args[i+1]) {
			joined = append(joined, args[i]+"="+args[i+1])
			i++
			continue
		}
		joined = append(joined, args[i])
	}
	return joined
}

// isPage reports whether a word is meant as a value of --page, right or wrong.
func isPage(word string) bool {
	_, port, err := net.SplitHostPort(word)
	_, number := strconv.Atoi(port)
	return word == daemon.PageOn || word == "off" || err == nil && number == nil
}
