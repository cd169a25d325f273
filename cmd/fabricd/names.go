package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"gofabric/internal/fabricd/api"
)

// addNameCommands adds the commands that read and change the directory.
func addNameCommands(root *cobra.Command) {
	root.AddCommand(newNamesCommand(), newGetCommand(), newPutCommand(), newDeleteCommand(), newWatchCommand())
}

func newNamesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "names [PREFIX]", Short: "List the names in the directory", Example: "  fabricd names job/", Args: cobra.MaximumNArgs(1)}
	return clientCommand(cmd, func(c *client, args []string) error {
		prefix := ""
		if len(args) > 0 {
			prefix = args[0]
		}
		all := api.Names{Names: []api.Name{}}
		for after, more := "", true; more; {
			var part api.Names
			if err := c.ask("GET", "/v1/names?"+url.Values{"prefix": {prefix}, "after": {after}}.Encode(), nil, &part, 0); err != nil {
				return err
			}
			all.Names, all.Revision = append(all.Names, part.Names...), part.Revision
			if more = part.More && len(part.Names) > 0; more {
				after = part.Names[len(part.Names)-1].Name
			}
		}
		if c.json {
			return c.print(all)
		}
		c.table("NAME\tADDRESS\tUID\tLIVES", func(w *tabwriter.Writer) {
			for _, n := range all.Names {
				fmt.Fprintf(w, "%s\t%q\t%d\t%s\n", shortened(n.Name), n.Address, n.Owner, lifetime(n))
			}
		})
		return nil
	})
}

// nameWidth is the number of characters of a name in a table: the longest name determines the column's width.
const nameWidth = 64

// shortened returns a name as a table shows it: of a long one the beginning and the end.
func shortened(name string) string {
	if r := []rune(name); len(r) > nameWidth {
		return string(r[:nameWidth/2]) + "…" + string(r[len(r)-nameWidth/2+1:])
	}
	return name
}

func lifetime(n api.Name) string {
	if n.Lease != "" && n.Expires.IsZero() {
		return n.Lease + " unless it is renewed"
	}
	return left(n.Expires)
}

func newGetCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "get NAME", Short: "Print the address of a name, or a job's value (--kv)", Example: "  fabricd get job/3\n  fabricd get --kv --wait 10s job/config", Args: cobra.ExactArgs(1)}
	kv := cmd.Flags().Bool("kv", false, "a value, not a name")
	wait := cmd.Flags().Duration("wait", 0, "wait for a value that is not there yet")
	return clientCommand(cmd, func(c *client, args []string) error {
		if !*kv {
			var n api.Name
			return c.do("GET", api.NamePath(args[0]), nil, &n, func() { c.printf("%s\n", n.Address) })
		}
		var v api.Value
		return c.await("GET", api.KeyPath(args[0])+"?"+url.Values{"wait": {wait.String()}}.Encode(), nil, &v, *wait, func() { c.printf("%s", v.Value) })
	})
}

func newPutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "put NAME ADDRESS",
		Short:   "Put a name, or a job's value (--kv), into the directory",
		Long:    "Put a name, or a job's value (--kv; - reads it from standard input), into the directory. Without a lease a name remains until it is deleted, and a value for a day.",
		Example: "  fabricd put job/3 fi_sockaddr_in://10.0.0.3:7471\n  fabricd put --kv --lease 1h job/config - < config",
		Args:    cobra.ExactArgs(2),
	}
	kv := cmd.Flags().Bool("kv", false, "a value, not a name")
	private := cmd.Flags().Bool("private", false, "hide it from other users")
	lease := cmd.Flags().Duration("lease", 0, "time until the entry expires, unless it is renewed")
	return clientCommand(cmd, func(c *client, args []string) error {
		text := ""
		if *lease != 0 {
			text = lease.String()
		}
		var out api.Registered
		done := func() { c.printf("%s: revision %d, remains %s\n", args[0], out.Revision, left(out.Expires)) }
		if !*kv {
			return c.do("PUT", api.NamePath(args[0]), api.Registration{Address: args[1], Lease: text, Private: *private}, &out, done)
		}
		value := []byte(args[1])
		if args[1] == "-" {
			var err error
			if value, err = io.ReadAll(c.cmd.InOrStdin()); err != nil {
				return err
			}
		}
		return c.do("PUT", api.KeyPath(args[0]), api.Value{Value: value, Lease: text, Private: *private}, &out, done)
	})
}

func newDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "delete NAME", Short: "Delete a name, or a job's value (--kv)", Example: "  fabricd delete job/3\n  fabricd delete --kv --prefix job/", Args: cobra.ExactArgs(1)}
	kv := cmd.Flags().Bool("kv", false, "a value, not a name")
	prefix := cmd.Flags().Bool("prefix", false, "delete everything of yours that begins with this")
	return clientCommand(cmd, func(c *client, args []string) error {
		path, table := api.NamePath(args[0]), "/v1/names"
		if *kv {
			path, table = api.KeyPath(args[0]), "/v1/kv"
		}
		if *prefix {
			path = table + "?" + url.Values{"prefix": {args[0]}}.Encode()
		}
		var out api.Deleted
		return c.do("DELETE", path, nil, &out, func() { c.printf("%d deleted\n", out.Count) })
	})
}

func newWatchCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "watch [PREFIX]", Short: "Print changes of names until interrupted", Example: "  fabricd watch job/", Args: cobra.MaximumNArgs(1)}
	from := cmd.Flags().Uint64("from", 0, "also print the changes after this revision")
	return clientCommand(cmd, func(c *client, args []string) error {
		q := url.Values{"from": {strconv.FormatUint(*from, 10)}}
		if len(args) > 0 {
			q.Set("prefix", args[0])
		}
		body, err := c.api.Open(c.cmd.Context(), "GET", "/v1/watch?"+q.Encode(), nil)
		if err != nil {
			return err
		}
		defer body.Close()
		for d := json.NewDecoder(body); ; {
			var e api.Event
			if err := d.Decode(&e); err != nil {
				if c.cmd.Context().Err() != nil {
					return nil
				}
				return fmt.Errorf("the watch ended: %w", err)
			}
			switch {
			case e.Error != nil:
				return errors.Join(e.Error, fmt.Errorf("last revision: %d", e.Revision))
			case c.json:
				if err := json.NewEncoder(c.cmd.OutOrStdout()).Encode(e); err != nil {
					return err
				}
			case e.Type != "alive":
				c.printf("%s  %-6s  %s  %s\n", time.Now().Format(time.TimeOnly), e.Type, e.Name, e.Address)
			}
		}
	})
}
