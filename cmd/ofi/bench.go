package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gofabric"
	"gofabric/cmd/ofi/internal/bench"
)

// This file is ofi bench: its flags, and the output of its results.

const benchLong = `Measure latency, message rate, bandwidth, and remote reads and writes of provider stacks, with two processes on this machine that ofi starts itself.

The procedures are those of libfabric's fabtests: latency is half the round trip of fi_msg_pingpong and fi_rdm_pingpong; rate and bandwidth are windows of
sends, each answered by a small message, as fi_msg_bw and fi_rdm_bw; write and read are windows of remote accesses by both sides at once, as fi_rma_bw
(--one-way: by one side). "atomic" is the time of a remote fetch-add of 8 bytes, one at a time, and "allreduce" that of a sum of doubles over 2, 4 and 8
processes. These two run only if --test names them, and --native compares them with a program in C, if gcc and the headers of libfabric are installed.
"sliding" keeps a window of sends that have not completed, and waits for nothing else. MB/s are 10^6 bytes per second.

For datagrams there are latency and rate only, and a test that loses one ends with an error after some seconds. If a receiver had no room for datagrams,
a note below the table and "lost" in JSON count them. Reliable stacks send them again.

With --native, libfabric's own tools and ours run alternately with the same sizes, and the ratio of each pair of neighbouring runs is shown with its spread:
below 1 is better for latencies, above 1 for the rest. The environment decides which library they use (LD_LIBRARY_PATH).`

const benchExample = `  ofi bench                                            every stack
  ofi bench --stack tcp/rdm --test latency,rate --window 1024
  ofi bench --test bandwidth,write --bulk 64k,1m,4m --json
  ofi bench --stack tcp/rdm --test latency --follow      again and again, to watch it while other programs start
  ofi bench --native                                   against fi_pingpong
  ofi bench --veth --native --stack "udp/dgram,udp;ofi_rxd/rdm"    AF_XDP, sockets and fi_pingpong over a veth pair, as root
  ofi bench --nodes n1,n2 --stack "udp;ofi_rxd/rdm"       across the fabric of: fabricd emulate pair
  ofi bench --native --fabtests /usr/bin --rounds 5 --plot ratios.svg`

// benchFlags are the flags as given.
type benchFlags struct {
	stacks, tests, bulk []string
	sums                []string
	members             []int
	size                string
	window, rounds      int
	time                time.Duration
	json, native, veth  bool
	following           bool
	links               []string
	nodes               string   // of the emulated fabric
	ends                []string // in the process at the near end
	oneWay, list        bool
	pingpong, fabtests  string
	prefix              string
	plot                string
}

func newBenchCommand(app *app) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure stacks with two processes on this machine, and compare with native libfabric",
		Long:    benchLong,
		Example: benchExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return f.run(ctx, app)
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.stacks, "stack", nil, "stacks, such as tcp/msg, \"udp;ofi_rxd/rdm\" or udp/dgram (default: all reliable ones)")
	fl.StringSliceVar(&f.tests, "test", nil, "tests: "+strings.Join(bench.PlanTests, ", ")+" (default: all but the last two)")
	fl.StringVarP(&f.size, "size", "S", "64", "bytes of latency and rate messages")
	fl.StringSliceVar(&f.bulk, "bulk", []string{"64k", "1m"}, "bytes of bandwidth, read and write messages")
	fl.IntVarP(&f.window, "window", "W", 64, "operations in a window")
	fl.DurationVar(&f.time, "time", 600*time.Millisecond, "time of one measurement")
	fl.IntVar(&f.rounds, "rounds", 0, "measurements of each test (default 1; 3 with --native)")
	fl.BoolVar(&f.oneWay, "one-way", false, "remote reads and writes by one side only")
	fl.BoolVar(&f.native, "native", false, "compare with libfabric's own tools")
	fl.StringVar(&f.pingpong, "pingpong", "", "native fi_pingpong, if not in PATH")
	fl.StringVar(&f.prefix, "libfabric", "", "installation prefix of the native libfabric, for tests that ofi compiles (default: the system's)")
	fl.IntSliceVar(&f.members, "members", []int{2, 4, 8}, "members of allreduce")
	fl.StringSliceVar(&f.sums, "sums", []string{"8", "1k", "16k", "64k", "1m"}, "bytes of allreduce")
	fl.StringVar(&f.fabtests, "fabtests", "", "directory of libfabric's fabtests (fi_msg_bw and so on)")
	fl.BoolVar(&f.following, "follow", false, "measure one stack again and again, test after test, and print each measurement with its time, until interrupted or after --rounds")
	fl.BoolVar(&f.json, "json", false, "print JSON; with --follow, an object on a line for each measurement")
	fl.StringVar(&f.plot, "plot", "", "draw the results into a file, .svg or .png")
	fl.BoolVar(&f.veth, "veth", false, "measure over a veth pair between two network namespaces that ofi makes, instead of loopback (Linux, root)")
	fl.StringSliceVar(&f.links, "link", []string{"xdp"}, "with --veth: values of FI_UDP_LINK to measure beside sockets")
	fl.StringVar(&f.nodes, "nodes", "", "measure between two nodes of the fabric that fabricd emulates, such as n1,n2 (fabricd emulate)")
	fl.StringSliceVar(&f.ends, "ends", nil, "the veth pair that another process has made")
	fl.MarkHidden("ends")
	fl.BoolVar(&f.list, "list", false, "list the stacks and stop")
	return cmd
}

// newBenchPeerCommand is the peer process of ofi bench. It is not for users.
func newBenchPeerCommand(*app) *cobra.Command {
	p := benchProviders
	cmd := &cobra.Command{
		Use:    benchPeer,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return bench.Peer(p, os.Stdin, os.Stdout)
		},
	}
	cmd.Flags().StringVar(&p.Node, "node", "", "address of the endpoints")
	return cmd
}

const benchPeer = "bench-peer"

var benchProviders = bench.Providers{GetInfo: gofabric.GetInfo, OpenFabric: gofabric.OpenFabric}

// config turns the flags into a configuration.
func (f *benchFlags) config() (bench.Config, error) {
	c := bench.Config{Providers: benchProviders, Peer: benchPeerCommand, Time: f.time, Rounds: f.rounds}
	for _, t := range f.tests {
		if !slices.Contains(bench.PlanTests, t) {
			return c, fmt.Errorf("there is no test %q; the tests are %s", t, strings.Join(bench.PlanTests, ", "))
		}
	}
	if f.time < time.Millisecond || f.time > time.Hour {
		return c, fmt.Errorf("--time %v is not between 1ms and 1h", f.time)
	}
	if f.window < 1 || f.window > 1<<16 {
		return c, fmt.Errorf("--window %d is not between 1 and 65536", f.window)
	}
	c.Plan = bench.Plan{Tests: f.tests, Window: f.window, OneWay: f.oneWay}
	var err error
	if c.Plan.Small, err = bench.ParseSize(f.size); err != nil {
		return c, err
	}
	for _, b := range f.bulk {
		n, err := bench.ParseSize(b)
		if err != nil {
			return c, err
		}
		c.Plan.Bulk = append(c.Plan.Bulk, n)
	}
	if err := f.teams(&c.Plan); err != nil {
		return c, err
	}
	if f.native {
		c.Native = &bench.Native{Pingpong: f.pingpong, Fabtests: f.fabtests, Prefix: f.prefix}
		if err := c.Native.Find(); err != nil {
			return c, err
		}
		c.Rounds = cmp.Or(c.Rounds, 3)
	}
	if f.plot != "" {
		if err := bench.CheckPlot(f.plot); err != nil {
			return c, err
		}
	}
	if err := f.plugIn(&c); err != nil {
		return c, err
	}
	return c, f.chooseStacks(&c)
}

// teams parses the flags of allreduce.
func (f *benchFlags) teams(p *bench.Plan) error {
	for _, b := range f.sums {
		n, err := bench.ParseSize(b)
		if err != nil {
			return err
		}
		p.Sums = append(p.Sums, max(n&^7, 8))
	}
	for _, m := range f.members {
		if m < 2 || m > 1024 {
			return fmt.Errorf("--members %d is not between 2 and 1024", m)
		}
	}
	p.Members = f.members
	return nil
}

func (f *benchFlags) chooseStacks(c *bench.Config) error {
	for _, text := range f.stacks {
		s, err := bench.ParseStack(text)
		if err != nil {
			return err
		}
		if err := s.Check(c.Providers.GetInfo); err != nil {
			return fmt.Errorf("--stack %s: %w", text, err)
		}
		c.Stacks = append(c.Stacks, s)
	}
	var err error
	if len(c.Stacks) == 0 {
		c.Stacks, err = bench.Stacks(c.Providers.GetInfo)
	}
	return err
}

func (f *benchFlags) run(ctx context.Context, app *app) error {
	c, err := f.config()
	if err != nil {
		return err
	}
	if f.following {
		return f.follow(ctx, app, &c)
	}
	if f.nodes != "" {
		return f.betweenNodes(ctx, app, os.Args[1:])
	}
	if f.veth {
		return f.overVeth(ctx, app, &c)
	}
	if f.list {
		for _, s := range c.Stacks {
			app.printf("%s\n", s)
		}
		return nil
	}
	if c.Native != nil {
		defer c.Native.Close()
	}
	line := newLiveLine(app.errOut)
	c.Progress = line.show
	results, err := bench.Run(ctx, c)
	line.clear()
	return f.report(app, results, err)
}

// report prints the results. err is the error that ended the measurements, or nil.
func (f *benchFlags) report(app *app, results []bench.Result, err error) error {
	if err != nil && len(results) == 0 {
		return err
	}
	if f.json {
		if err := app.json(results); err != nil {
			return err
		}
	} else if err := bench.Table(app.out, results); err != nil {
		return err
	}
	if f.plot != "" && err == nil {
		if err := bench.Plot(f.plot, results); err != nil {
			return err
		}
	}
	if err == nil && slices.ContainsFunc(results, func(r bench.Result) bool { return r.Error != "" }) {
		err = fmt.Errorf("some tests failed")
	}
	return err
}

// benchPeerCommand starts this program again as the peer process.
func benchPeerCommand(ctx context.Context) *exec.Cmd {
	return exec.CommandContext(ctx, benchProgram(), benchPeer)
}

// liveLine is a status line that is overwritten on a terminal. Elsewhere it prints nothing.
type liveLine struct {
	w     io.Writer
	start time.Time
}

func newLiveLine(w io.Writer) *liveLine {
	if f, ok := w.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
			return &liveLine{w: w, start: time.Now()}
		}
	}
	return &liveLine{}
}

func (l *liveLine) show(done, total int, what string) {
	if l.w != nil {
		fmt.Fprintf(l.w, "\r\x1b[K%3d%%  %3.0fs  %s", 100*done/max(total, 1), time.Since(l.start).Seconds(), what)
	}
}

func (l *liveLine) clear() {
	if l.w != nil {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}
