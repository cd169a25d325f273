package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"gofabric/cmd/ofi/internal/dump"
)

// This file is ofi dump: it prints packet captures as lines of text or JSON.

const dumpLong = `Print the frames of fabrics in a packet capture (pcap or pcapng; - is standard input), one line each: time (UTC), source > destination, wire
format, operation, fields. A connection is recognized by its first messages: start the capture before it, or give its port with --port (datagrams only).
The formats are xnet (provider tcp) and rxd (udp;ofi_rxd, native packets and gofabric's extension).`

const dumpExample = `  tcpdump -i lo -w run.pcap tcp
  ofi dump run.pcap
  tcpdump -i lo -U -w - udp | ofi dump -`

// defaultPayload is the number of bytes of each payload that -v shows.
const defaultPayload = 256

type dumpFlags struct {
	ports         []uint
	verbose, json bool
	payload       int
}

func newDumpCommand(_ *app) *cobra.Command {
	var f dumpFlags
	cmd := &cobra.Command{
		Use:     "dump [flags] FILE",
		Short:   "Print the frames in a packet capture",
		Long:    dumpLong,
		Example: dumpExample,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := cmd.InOrStdin()
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer file.Close()
				in = file
			}
			if !cmd.Flags().Changed("payload") && !f.verbose {
				f.payload = 0
			}
			return f.run(in, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fl := cmd.Flags()
	fl.UintSliceVar(&f.ports, "port", nil, "only connections with this port at either end; may be repeated")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print headers and payload byte by byte")
	fl.IntVar(&f.payload, "payload", defaultPayload, "bytes of each payload to print, with -v or --json")
	fl.BoolVar(&f.json, "json", false, "print one JSON object per line")
	return cmd
}

func (f *dumpFlags) run(in io.Reader, out, errOut io.Writer) error {
	o := dump.Options{Payload: max(f.payload, 0)}
	for _, p := range f.ports {
		if p == 0 || p > 65535 {
			return fmt.Errorf("--port %d: ports are numbers from 1 to 65535", p)
		}
		o.Ports = append(o.Ports, uint16(p))
	}
	write := (*dump.Record).WriteLine
	switch {
	case f.json:
		write = (*dump.Record).WriteJSON
	case f.verbose:
		write = (*dump.Record).WriteVerbose
	}
	var werr error
	sum, err := dump.Run(in, o, func(r dump.Record) {
		if werr == nil {
			werr = write(&r, out)
		}
	})
	printDumpSummary(errOut, sum)
	if err != nil {
		return err
	}
	return werr
}

// printDumpSummary prints to standard error, so that a pipe gets only the frames.
func printDumpSummary(w io.Writer, s dump.Summary) {
	fmt.Fprintf(w, "%d packets, %d connections, %d frames", s.Packets, s.Connections, s.Frames)
	for _, n := range []struct {
		n    int
		what string
	}{
		{s.Problems, "problems"},
		{s.Unknown, "streams of no known format"},
		{s.Datagrams, "datagrams of no known format"},
		{s.Undecodable, "undecodable packets"},
		{s.Ignored, "packets beyond the limit of connections"},
	} {
		if n.n > 0 {
			fmt.Fprintf(w, ", %d %s", n.n, n.what)
		}
	}
	fmt.Fprintln(w)
	if s.Cause != nil {
		fmt.Fprintln(w, s.Cause)
	}
}
