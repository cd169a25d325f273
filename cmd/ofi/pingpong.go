package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gofabric"
	"gofabric/cmd/ofi/internal/pingpong"
	"gofabric/core"
)

// This file is ofi pingpong: the flags of fi_pingpong(1) and, for the same results, a table or JSON.

const pingpongLong = `Bounce messages between two processes and report latency and throughput.

Without an address this end is the server; start it first. With one it is the client. Either end may be libfabric's own fi_pingpong. If any of -p,
-e, -I, -S or -m is given, give it at both ends.`

const pingpongExample = `  server$ ofi pingpong -p tcp -e rdm
  client$ ofi pingpong -p tcp -e rdm 192.168.0.123`

// pingpongFlags are the flags as given.
type pingpongFlags struct {
	cfg                pingpong.Config
	epType, size, mode string
	verbose, json      bool
	logf               func(format string, args ...any) // prints with -v; run sets it if it is nil
}

func newPingpongCommand(_ *app) *cobra.Command {
	var f pingpongFlags
	cmd := &cobra.Command{
		Use:     "pingpong [flags] [server address]",
		Short:   "Measure latency and throughput between two hosts, as fi_pingpong",
		Long:    pingpongLong,
		Example: pingpongExample,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.cfg.Server = args[0]
			}
			cmd.SilenceUsage = true
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return f.run(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.define(cmd.Flags())
	return cmd
}

// define defines the flags.
func (f *pingpongFlags) define(fl *pflag.FlagSet) {
	c := &f.cfg
	fl.Uint16VarP(&c.SrcPort, "src-port", "B", 0, fmt.Sprintf("source control port (server: %d, client: any)", pingpong.DefaultPort))
	fl.Uint16VarP(&c.DstPort, "dst-port", "P", 0, fmt.Sprintf("the server's control port (default %d)", pingpong.DefaultPort))
	fl.StringVarP(&c.Domain, "domain", "d", "", "domain name")
	fl.StringVarP(&c.Fabric, "fabric", "f", "", "fabric name")
	fl.StringVarP(&c.SrcAddr, "source", "s", "", "source address of the fabric traffic")
	fl.StringVarP(&c.Provider, "provider", "p", "", "provider, such as tcp")
	fl.StringVarP(&f.epType, "endpoint", "e", "dgram", "endpoint type: msg, rdm or dgram")
	fl.IntVarP(&c.Iterations, "iterations", "I", pingpong.DefaultIterations, "round trips per size")
	fl.StringVarP(&f.size, "size", "S", "", "one message size in bytes, or all: powers of two and halves between")
	fl.StringVarP(&f.mode, "mode", "m", "msg", "kind of messages: msg or tagged")
	fl.BoolVarP(&c.Check, "check", "c", false, "verify the data of each message")
	fl.BoolVarP(&c.IPv6, "ipv6", "6", false, "use IPv6 for the control connection")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print each step on standard error")
	fl.DurationVar(&c.Timeout, "timeout", pingpong.DefaultTimeout, "give up after this long without progress")
	fl.BoolVar(&f.json, "json", false, "print one JSON document instead of the table")
}

// parse parses the flags whose values are words.
func (f *pingpongFlags) parse() error {
	c := &f.cfg
	switch strings.ToLower(f.epType) {
	case "msg":
		c.Type = core.EPTypeMsg
	case "rdm":
		c.Type = core.EPTypeRDM
	case "dgram":
		c.Type = core.EPTypeDgram
	default:
		return fmt.Errorf("-e %q: the endpoint types are msg, rdm and dgram", f.epType)
	}
	switch strings.ToLower(f.mode) {
	case "msg":
	case "tagged":
		c.Tagged = true
	default:
		return fmt.Errorf("-m %q: the modes are msg and tagged", f.mode)
	}
	switch strings.ToLower(f.size) {
	case "":
		c.Size = pingpong.UnsetSize
	case "all":
		c.Size = pingpong.AllSizes
	default:
		n, err := strconv.Atoi(f.size)
		if err != nil || n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("-S %q: give a number of bytes up to %d, or all", f.size, math.MaxInt32)
		}
		c.Size = n
	}
	if c.Timeout <= 0 {
		return fmt.Errorf("--timeout %v: must be positive", c.Timeout)
	}
	return nil
}

func (f *pingpongFlags) run(ctx context.Context, out, errOut io.Writer) error {
	if err := f.parse(); err != nil {
		return err
	}
	cfg := f.cfg
	cfg.GetInfo = func(hints *core.Info) ([]*core.Info, error) {
		infos, _, err := gofabric.GetInfo(core.Query{Hints: hints})
		return infos, err
	}
	cfg.OpenFabric = gofabric.OpenFabric
	if f.verbose {
		if cfg.Logf = f.logf; cfg.Logf == nil {
			cfg.Logf = func(format string, args ...any) { fmt.Fprintf(errOut, format+"\n", args...) }
		}
		cfg.Listening = func(addr string) { cfg.Logf("waiting for the client at %s", addr) }
	}
	if f.json {
		results, err := pingpong.Run(ctx, cfg)
		return writePingpongJSON(out, &f.cfg, results, err)
	}
	var werr error
	first := true
	cfg.OnResult = func(r pingpong.Result) {
		if first && werr == nil && r.Sent > 0 {
			werr = pingpong.WriteHeader(out)
			first = false
		}
		if werr == nil {
			werr = r.WriteRow(out)
		}
	}
	if _, err := pingpong.Run(ctx, cfg); err != nil {
		return err
	}
	return werr
}

// pingpongJSON is the document of --json.
type pingpongJSON struct {
	Role       string              `json:"role"`
	Provider   string              `json:"provider,omitempty"`
	Endpoint   string              `json:"endpoint"`
	Tagged     bool                `json:"tagged"`
	Checked    bool                `json:"checked"`
	Iterations int                 `json:"iterations"`
	Results    []pingpongJSONEntry `json:"results"`
	Error      string              `json:"error,omitempty"`
}

type pingpongJSONEntry struct {
	Bytes        int     `json:"bytes"` // per message
	Sent         int     `json:"sent"`
	Acked        int     `json:"acked"`
	Total        uint64  `json:"total"` // bytes, both directions
	Seconds      float64 `json:"seconds"`
	MBPerSec     float64 `json:"mb_per_sec"`
	USecPerXfer  float64 `json:"usec_per_xfer"`
	MXfersPerSec float64 `json:"mxfers_per_sec"`
}

// writePingpongJSON prints the document, with err in it unless it is nil, and returns err.
func writePingpongJSON(out io.Writer, cfg *pingpong.Config, results []pingpong.Result, err error) error {
	doc := pingpongJSON{Role: "server", Provider: cfg.Provider, Endpoint: strings.ToLower(strings.TrimPrefix(cfg.Type.String(), "FI_EP_")),
		Tagged: cfg.Tagged, Checked: cfg.Check, Iterations: cfg.Iterations, Results: []pingpongJSONEntry{}}
	if cfg.Server != "" {
		doc.Role = "client"
	}
	if err != nil {
		doc.Error = err.Error()
	}
	for _, r := range results {
		doc.Results = append(doc.Results, pingpongJSONEntry{Bytes: r.Size, Sent: r.Sent, Acked: r.Acked, Total: r.Bytes(), Seconds: r.Elapsed.Seconds(),
			MBPerSec: r.MBPerSec(), USecPerXfer: r.USecPerXfer(), MXfersPerSec: r.MXfersPerSec()})
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	if werr := enc.Encode(doc); err == nil {
		err = werr
	}
	return err
}
