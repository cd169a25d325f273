package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gofabric/cmd/fabricd/internal/emulate/fabric"
	"gofabric/cmd/fabricd/internal/emulate/link"
	"gofabric/cmd/fabricd/internal/emulate/topology"
	"gofabric/internal/fabricd/api"
)

// errNoFabric is the error of a request to a daemon that does not run.
var errNoFabric = fmt.Errorf("%w; for an emulated fabric: fabricd emulate pair", api.ErrNoDaemon)

// emulationError says what is missing if the daemon, or its fabric, does not run.
func emulationError(err error) error {
	var e *api.Error
	switch {
	case errors.Is(err, api.ErrNoDaemon):
		return errNoFabric
	case errors.As(err, &e) && e.Status == 404 && e.Hint == "":
		return errors.New("the running fabricd emulates no fabric; stop it, or use another --dir, and run: fabricd emulate pair")
	}
	return err
}

// ask sends a request about the emulated fabric to this node's daemon.
func ask(cmd *cobra.Command, method, path string, in, out any) error {
	client, err := api.Dial("")
	if err != nil {
		return emulationError(err)
	}
	defer client.Close()
	return emulationError(client.Do(cmd.Context(), method, "/v1/emulation"+path, in, out))
}

// newLinkCommand shows and changes links of the emulated fabric.
func newLinkCommand() *cobra.Command {
	edit := topology.Edit{}
	change := api.LinkChange{}
	var down, up bool
	cmd := &cobra.Command{
		Use:   "link [LINK]",
		Short: "Show the links of the emulated fabric, or change one",
		Long:  "Show the links of the emulated fabric with their faults and counts, or change one while the fabric runs. Faults that the command does not name remain as they are.",
		Example: "  fabricd link\n  fabricd link n1-n2 --loss 5%\n  fabricd link n1-n2 --direction ab --delay 10ms --jitter 1ms --rate 100mbit --queue 50\n" +
			"  fabricd link n1-n2 --burst 1%/25%/100%\n  fabricd link n1-n2 --down",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var e api.Emulation
			if len(args) == 0 {
				if len(edit) > 0 || up || down {
					return errors.New("name a link, as in: fabricd link n1-n2 --loss 5%")
				}
				if err := ask(cmd, "GET", "", nil, &e); err != nil {
					return err
				}
				return printLinks(cmd.OutOrStdout(), e.Links)
			}
			faults, err := edit.Apply(link.Faults{})
			if err != nil {
				return err
			}
			if len(edit) > 0 {
				change.Faults = fabric.ChangeOf(faults, cmd.Flags().Changed)
			}
			if up || down {
				change.Up = &up
			}
			method, path, body := "PATCH", "/links/"+url.PathEscape(args[0]), any(&change)
			if change.Faults == nil && change.Up == nil {
				method, path, body = "GET", "", nil
			}
			if err := ask(cmd, method, path, body, &e); err != nil {
				return err
			}
			for i := range e.Links {
				if id := e.Links[i].ID; id == args[0] || e.Links[i].B+"-"+e.Links[i].A == args[0] {
					return printLinks(cmd.OutOrStdout(), e.Links[i:i+1])
				}
			}
			return &fabric.NotThere{What: "link", Name: args[0]}
		},
	}
	topology.EachSetting(func(name, help string) { cmd.Flags().Var(&editFlag{edit, name}, name, help) })
	cmd.Flags().StringVar(&change.Direction, "direction", "both", "direction of the link a-b to change: both, ab or ba")
	cmd.Flags().BoolVar(&down, "down", false, "take the link down, as if its cable were pulled out")
	cmd.Flags().BoolVar(&up, "up", false, "take the link up again")
	cmd.MarkFlagsMutuallyExclusive("up", "down")
	return cmd
}

// editFlag is a fault on the command line.
type editFlag struct {
	edit topology.Edit
	name string
}

func (f *editFlag) Set(v string) error { f.edit[f.name] = v; return nil }
func (f *editFlag) Type() string       { return "value" }
func (f *editFlag) String() string {
	if f.edit == nil {
		return ""
	}
	return f.edit[f.name]
}

// printLinks prints a line for each direction.
func printLinks(w io.Writer, links []api.Link) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "link\tdirection\tfaults\tframes\tlost\tdropped\tcut\tother")
	for i := range links {
		l := &links[i]
		for _, d := range []struct {
			way string
			d   *api.Direction
		}{{l.A + " to " + l.B, &l.AB}, {l.B + " to " + l.A, &l.BA}} {
			s := &d.d.Stats
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", l.ID, d.way, describe(l, &d.d.Faults), s.Frames, s.Lost, s.Dropped, s.Cut, others(s))
		}
	}
	return t.Flush()
}

// describe returns a link's state and faults in words.
func describe(l *api.Link, f *api.Faults) string {
	var all []string
	add := func(is bool, format string, args ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	add(!l.Up, "down")
	add(f.Loss > 0, "loss %.4g%%", f.Loss*100)
	add(f.Burst != (api.Burst{}), "burst %.4g%%/%.4g%%/%.4g%%", f.Burst.Enter*100, f.Burst.Leave*100, f.Burst.Loss*100)
	add(f.DelayMS > 0, "delay %.4gms", f.DelayMS)
	add(f.JitterMS > 0, "jitter %.4gms", f.JitterMS)
	add(f.RateMbit > 0, "rate %.4gmbit", f.RateMbit)
	add(f.Queue > 0, "queue %d", f.Queue)
	add(f.QueueBytes > 0, "queue-bytes %d", f.QueueBytes)
	add(f.ECN > 0, "ecn %d", f.ECN)
	add(f.Dup > 0, "dup %.4g%%", f.Dup*100)
	add(f.Reorder > 0, "reorder %.4g%%", f.Reorder*100)
	add(f.Corrupt > 0, "corrupt %.4g%%", f.Corrupt*100)
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// others returns the counts that are rarely of interest.
func others(s *api.LinkStats) string {
	var all []string
	for _, c := range []struct {
		name string
		n    uint64
	}{{"marked", s.Marked}, {"duplicated", s.Duplicated}, {"reordered", s.Reordered}, {"corrupted", s.Corrupted}, {"queued", uint64(s.Queue)}} {
		if c.n > 0 {
			all = append(all, fmt.Sprintf("%s %d", c.name, c.n))
		}
	}
	return strings.Join(all, ", ")
}
