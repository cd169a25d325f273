package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"gofabric/cmd/ofi/internal/getopt"
	"gofabric/cmd/ofi/internal/pingpong"
	"gofabric/core"
)

var fiPingpongOptions = []getopt.Option{{Short: 'h', NoArg: true}, {Short: 'v', NoArg: true}, {Short: 'd'}, {Short: 'p'}, {Short: 'f'}, {Short: 'e'}, {Short: 'I'},
	{Short: 'S'}, {Short: 's'}, {Short: 'B'}, {Short: 'P'}, {Short: 'c', NoArg: true}, {Short: 'm'}, {Short: '6', NoArg: true}}

// fiPingpong is fi_pingpong(1). It differs in three ways; native continues in each case: an argument that is not a
// number ends the program, a server without an endpoint to offer ends before a client connects, and a peer that
// does not answer for a minute is an error.
func (a *app) fiPingpong(argv []string) int {
	f := &pingpongFlags{epType: "dgram", mode: "msg"}
	f.cfg.Iterations, f.cfg.Timeout, f.cfg.Wait = pingpong.DefaultIterations, pingpong.DefaultTimeout, pingpong.NoLimit
	args, code := a.parseNative(argv, fiPingpongOptions, func(name byte, value string) int { return a.takePingpong(f, name, value) },
		func() { a.pingpongUsage(argv[0]) })
	if code != 0 {
		return code
	}
	if len(args) > 0 {
		f.cfg.Server = args[0]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if f.verbose {
		f.logf = func(format string, args ...any) { fmt.Fprintf(a.errOut, "[debug] fi_pingpong: "+format+"\n", args...) }
		a.pingpongBanner(f)
	}
	if err := f.run(ctx, a.out, a.errOut); err != nil {
		fmt.Fprintf(a.errOut, "[error] fi_pingpong: %v\n", err)
		return exitCode(err)
	}
	return 0
}

// takePingpong uses an option. A result other than 0 ends the program with this code.
func (a *app) takePingpong(f *pingpongFlags, name byte, value string) int {
	c := &f.cfg
	var err error
	switch name {
	case 'v':
		f.verbose = true
	case 'd':
		c.Domain = value
	case 'p':
		c.Provider = value
	case 'f':
		c.Fabric = value
	case 's':
		c.SrcAddr = value
	case 'c':
		c.Check = true
	case '6':
		c.IPv6 = true
	case 'e':
		f.epType = value
		switch strings.ToLower(value) {
		case "msg", "rdm", "dgram":
		default:
			line(a.errOut, "Unknown endpoint : %s", value)
			return 1
		}
	case 'm':
		if f.mode = "tagged"; strings.EqualFold(value, "msg") {
			f.mode = "msg"
		}
	case 'I':
		c.Iterations, err = number[int](value, math.MaxInt32)
	case 'S':
		if f.size = value; !strings.EqualFold(value, "all") {
			var n int
			n, err = number[int](value, math.MaxInt32)
			f.size = strconv.Itoa(n)
		}
	case 'B':
		c.SrcPort, err = number[uint16](value, math.MaxUint16)
	case 'P':
		c.DstPort, err = number[uint16](value, math.MaxUint16)
	}
	if err != nil {
		line(a.errOut, "Error parsing \"%s\": %v", value, err)
		return 1
	}
	return 0
}

// number reads a number as strtol(3) does. Text without a number is 0.
func number[T int | uint16](s string, most int64) (T, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.TrimLeft(s, " \t\n\v\f\r"), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (n < 0 || n > most):
		return 0, core.Errno(34) // ERANGE
	case err != nil:
		return 0, core.ErrInval
	}
	return T(n), nil
}

// pingpongBanner lists the options, as -v does.
func (a *app) pingpongBanner(f *pingpongFlags) {
	or := func(s, none string) string {
		if s == "" {
			return none
		}
		return s
	}
	show := func(name, value string) { f.logf("  - %-20s: %s", name, value) }
	c := &f.cfg
	f.logf(" * PingPong options:")
	show("src_addr", "["+or(c.SrcAddr, "None")+"]")
	show("src_port", fmt.Sprintf("[%d]", c.SrcPort))
	show("dst_addr", "["+or(c.Server, "None")+"]")
	show("dst_port", fmt.Sprintf("[%d]", c.DstPort))
	switch f.size {
	case "":
		show("sizes_enabled", "default size = 64")
	case "all":
		show("sizes_enabled", "All sizes")
	default:
		show("sizes_enabled", "selected size = "+f.size)
	}
	how := "selected"
	if c.Iterations == pingpong.DefaultIterations {
		how = "default"
	}
	show("iterations", fmt.Sprintf("%s iterations: %d", how, c.Iterations))
	if c.Provider != "" {
		show("provider", c.Provider)
	}
	if c.Domain != "" {
		show("domain", c.Domain)
	}
}

func (a *app) pingpongUsage(program string) {
	w := a.errOut
	line(w, "Usage:")
	line(w, "  %s [OPTIONS]\t\tstart server", program)
	line(w, "  %s [OPTIONS] <srv_addr>\tconnect to server", program)
	line(w, "\nPing pong client and server\n\nOptions:")
	for _, o := range [][2]string{
		{"-B <src_port>", fmt.Sprintf("source control port number (server: %d, client: auto)", pingpong.DefaultPort)},
		{"-P <dst_port>", fmt.Sprintf("destination control port number (client: %d)", pingpong.DefaultPort)},
		{"-d <domain>", "domain name"},
		{"-f <fabric>", "fabric name"},
		{"-s <source address>", "source address associated with domain name"},
		{"-p <provider>", "specific provider name eg sockets, verbs"},
		{"-e <ep_type>", "endpoint type: msg|rdm|dgram (dgram)"},
		{"-I <number>", fmt.Sprintf("number of iterations (%d)", pingpong.DefaultIterations)},
		{"-S <size>", "specific transfer size or 'all' (all)"},
		{"-c", "enables data_integrity checks"},
		{"-m <transmit mode>", "transmit mode type: msg|tagged (msg)"},
		{"-h", "display this help output"},
		{"-v", "enable debugging output"},
		{"-6", "use IPv6 address"},
	} {
		line(w, " %-20s %s", o[0], o[1])
	}
}
