package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Veth is two network namespaces and a connection between them, to measure a network interface rather than
// loopback. The measuring process is at its near end.
type Veth struct {
	NearSpace, FarSpace string // names of namespaces, as in ip-netns(8), or of nodes that fabricd emulates
	Near, Far           string // addresses
	Fabricd             string // the program that runs commands in nodes; "" for namespaces
}

// ErrVeth is the error on systems that cannot make a veth pair.
var ErrVeth = errors.New("network namespaces and a veth pair need Linux, root and ip(8) (apt install iproute2); without --veth, both ends are on the loopback interface")

// NewVeth makes a veth pair between two new namespaces. Close removes it.
func NewVeth() (*Veth, error) {
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		return nil, ErrVeth
	}
	name := fmt.Sprintf("ofi-bench-%d", os.Getpid())
	c := &Veth{NearSpace: name + "a", FarSpace: name + "b", Near: "10.99.0.1", Far: "10.99.0.2"}
	steps := [][]string{
		{"netns", "add", c.NearSpace},
		{"netns", "add", c.FarSpace},
		{"-n", c.NearSpace, "link", "add", "eth9", "type", "veth", "peer", "name", "eth9", "netns", c.FarSpace},
	}
	for _, end := range [][2]string{{c.NearSpace, c.Near}, {c.FarSpace, c.Far}} {
		steps = append(steps,
			[]string{"-n", end[0], "link", "set", "lo", "up"},
			[]string{"-n", end[0], "link", "set", "eth9", "up"},
			[]string{"-n", end[0], "addr", "add", end[1] + "/24", "dev", "eth9"})
	}
	for _, args := range steps {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			c.Close()
			return nil, fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return c, nil
}

// Close removes the namespaces and, with them, the veth pair.
func (c *Veth) Close() {
	exec.Command("ip", "netns", "del", c.NearSpace).Run()
	exec.Command("ip", "netns", "del", c.FarSpace).Run()
}

// within returns the prefix of a command that runs in a namespace.
func (c *Veth) within(space string) []string {
	if c.Fabricd != "" {
		return []string{c.Fabricd, "exec", space, "--"}
	}
	return []string{"ip", "netns", "exec", space}
}

// Command returns a command that runs at the near or the far end.
func (c *Veth) Command(ctx context.Context, far bool, path string, args ...string) *exec.Cmd {
	space := c.NearSpace
	if far {
		space = c.FarSpace
	}
	all := append(append(c.within(space), path), args...)
	return exec.CommandContext(ctx, all[0], all[1:]...)
}

// Datapath has the results with one value of FI_UDP_LINK, one list for each round.
type Datapath struct {
	Name   string
	Rounds [][]Result
}

// Merge combines the results of several datapaths into one list. Each test of a datapath has native's result and
// that of the same test over the last datapath, the reference, beside it. Native's tools ran with the reference.
func Merge(paths []Datapath) []Result {
	var all []Result
	ref := &paths[len(paths)-1]
	for i := range paths {
		l, first := &paths[i], len(all)
		for round, results := range l.Rounds {
			for k, r := range results {
				if round == 0 {
					all = append(all, Result{Stack: r.Stack + " " + l.Name, Name: r.Name, Test: r.Test, Unit: r.Unit})
				}
				if first+k >= len(all) {
					break
				}
				to := &all[first+k]
				if r.Error != "" || len(r.Ours) == 0 {
					to.Error = r.Error
					continue
				}
				to.Ours = append(to.Ours, r.Ours...)
				if round < len(ref.Rounds) && k < len(ref.Rounds[round]) {
					to.beside(&ref.Rounds[round][k], r.Ours[len(r.Ours)-1].Value, l != ref, ref.Name)
				}
			}
		}
	}
	return all
}

// beside adds the results of the reference and of native's tools in the same round as value.
func (r *Result) beside(ref *Result, value float64, reference bool, name string) {
	add := func(tool string, values []float64, failed string) {
		var a *Against
		for i := range r.Against {
			if r.Against[i].Tool == tool {
				a = &r.Against[i]
			}
		}
		if a == nil {
			r.Against = append(r.Against, Against{Tool: tool})
			a = &r.Against[len(r.Against)-1]
		}
		if failed != "" {
			a.Error = failed
		}
		for _, v := range values {
			a.Values = append(a.Values, v)
			if v > 0 {
				a.Ratios = append(a.Ratios, value/v)
			}
		}
	}
	for _, a := range ref.Against {
		add(a.Tool, a.Values, a.Error)
	}
	if reference {
		add(name, ref.Values(), ref.Error)
	}
}
