package main

import (
	"fmt"
	"strings"

	"gofabric/cmd/ofi/internal/getopt"
	"gofabric/core"
	"gofabric/internal/version"
)

// fiInfoOptions are the options of fi_info(1), in the order of its help.
var fiInfoOptions = []struct {
	getopt.Option
	arg, help string
}{
	{getopt.Option{Short: 'h', Long: "help", NoArg: true}, "", "\t\tdisplay this help and exit"},
	{getopt.Option{Short: 's', Long: "src_addr"}, "ADDR", "\t\tsource name or address"},
	{getopt.Option{Short: 'n', Long: "node"}, "NAME", "\t\tdest node name or address"},
	{getopt.Option{Short: 'P', Long: "port"}, "PNUM", "\t\tport number"},
	{getopt.Option{Short: 'c', Long: "caps"}, "CAP1|CAP2..", "\tone or more capabilities: FI_MSG|FI_RMA..."},
	{getopt.Option{Short: 'm', Long: "mode"}, "MOD1|MOD2..", "\tone or more modes, default all modes"},
	{getopt.Option{Short: 't', Long: "ep_type"}, "EPTYPE", "\t\tspecify single endpoint type: FI_EP_MSG, FI_EP_DGRAM..."},
	{getopt.Option{Short: 'd', Long: "domain"}, "DOMAIN", "\t\tspecify the domain name"},
	{getopt.Option{Short: 'f', Long: "fabric"}, "FABRIC", "\t\tspecify the fabric name"},
	{getopt.Option{Short: 'a', Long: "addr_format"}, "FMT", "\t\tspecify accepted address format: FI_FORMAT_UNSPEC, FI_SOCKADDR..."},
	{getopt.Option{Short: 'p', Long: "provider"}, "PROV", "\t\tspecify provider explicitly"},
	{getopt.Option{Short: 'e', Long: "env", NoArg: true}, "", "\t\tprint libfabric environment variables"},
	{getopt.Option{Short: 'g', Long: "getenv"}, "SUBSTR", "\t\tprint libfabric environment variables with substr"},
	{getopt.Option{Short: 'i', Long: "info"}, "", "\t\tprint fi_info structures containing substr"},
	{getopt.Option{Short: 'l', Long: "list", NoArg: true}, "", "\t\tlist available libfabric providers"},
	{getopt.Option{Short: 'v', Long: "verbose", NoArg: true}, "", "\t\tverbose output"},
	{getopt.Option{Long: "version", NoArg: true}, "", "\t\tprint version info and exit"},
}

// fiInfo is fi_info(1).
func (a *app) fiInfo(argv []string) int {
	options := make([]getopt.Option, len(fiInfoOptions))
	for i, o := range fiInfoOptions {
		options[i] = o.Option
	}
	r := &fiInfoRun{app: a, hints: anyMode(), q: core.Query{Version: core.LibraryVersion}}
	versions := false
	_, code := a.parseNative(argv, options, func(name byte, value string) int {
		if name == 0 { // the only option without a letter; the rest is not parsed
			versions = true
			return -1
		}
		return r.take(name, value)
	}, func() { a.infoUsage(argv[0]) })
	if versions {
		a.printVersions(argv[0])
		return 0
	}
	if code != 0 {
		return code
	}
	return r.run()
}

// printVersions prints the versions, as fi_info --version does.
func (a *app) printVersions(program string) {
	a.printf("%s: %s\nlibfabric: %s\nlibfabric api: %s\n", program, version.String(), version.Library(), core.LibraryVersion)
}

func (a *app) infoUsage(program string) {
	line(a.out, "Usage: %s", program)
	for _, o := range fiInfoOptions {
		switch {
		case !o.NoArg:
			line(a.out, "  -%c, --%s=%s%s", o.Short, o.Long, o.arg, o.help)
		case o.Short == 0:
			line(a.out, "  --%s\t%s", o.Long, o.help)
		default:
			line(a.out, "  -%c, --%s\t%s", o.Short, o.Long, o.help)
		}
	}
}

// fiInfoRun is a run of fi_info.
type fiInfoRun struct {
	*app
	q                  core.Query
	hints              *core.Info
	hinted             bool // an option restricts the results
	env, list, verbose bool
	contains           string // the name of -g or -i
}

// take uses an option. A result other than 0 ends the program with this code.
func (r *fiInfoRun) take(name byte, value string) int {
	h := r.hints
	switch name {
	case 's':
		r.q.Node, r.q.Flags = value, r.q.Flags|core.InfoSource
	case 'n':
		r.q.Node = value
	case 'P':
		r.q.Service = value
	case 'e':
		r.env = true
	case 'g':
		r.env, r.contains = true, value
	case 'l':
		r.list, r.q.Flags = true, r.q.Flags|core.InfoProvAttrOnly
	case 'v':
		r.verbose = true
	case 'i':
		r.verbose, r.contains = true, value
	default:
		r.hinted = true
		var err error
		switch name {
		case 'c':
			err = eachName(r.app, "capability", value, func(s string) (err error) { return or(&h.Caps, s, core.ParseCaps) })
		case 'm':
			h.Mode = 0
			err = eachName(r.app, "mode", value, func(s string) (err error) { return or(&h.Mode, s, core.ParseModes) })
		case 't':
			err = oneName(r.app, "endpoint type", value, func(s string) (err error) { h.EP.Type, err = core.ParseEPType(s); return })
		case 'a':
			err = oneName(r.app, "address format", value, func(s string) (err error) { h.AddrFormat, err = core.ParseAddrFormat(s); return })
		case 'p':
			h.Fabric.ProvName = value
		case 'd':
			h.Domain.Name = value
		case 'f':
			h.Fabric.Name = value
		}
		if err != nil {
			return int(core.ErrInval)
		}
	}
	return 0
}

// or adds the bits of a name to *bits.
func or[T ~uint64](bits *T, name string, parse func(string) (T, error)) error {
	v, err := parse(name)
	*bits |= v
	return err
}

// eachName calls use for each of the names between |.
func eachName(a *app, what, list string, use func(string) error) error {
	for name := range strings.SplitSeq(list, "|") {
		if name == "" {
			continue
		}
		if err := oneName(a, what, name, use); err != nil {
			return err
		}
	}
	return nil
}

// oneName calls use for a name. Native only accepts whole names of constants; the parsers of ofi info accept more.
func oneName(a *app, what, name string, use func(string) error) error {
	err := error(core.ErrInval)
	if strings.HasPrefix(strings.ToUpper(name), "FI_") && !strings.ContainsAny(name, ", |") {
		err = use(name)
	}
	if err != nil {
		fmt.Fprintf(a.errOut, "error: Unrecognized %s: %s\n", what, name)
	}
	return err
}

// run calls GetInfo and prints the results.
func (r *fiInfoRun) run() int {
	if r.hinted {
		r.q.Hints = r.hints
	}
	found, _, err := r.getInfo(r.q)
	var params []core.ParamValue
	if err == nil && r.env {
		params, err = r.params()
	}
	if err != nil {
		e := core.ErrnoOf(err)
		fmt.Fprintf(r.errOut, "fi_getinfo: %d (%s)\n", -int(e), e)
		return int(e)
	}
	switch {
	case r.env:
		r.printVars(withSubstr(params, r.contains), true)
	case r.verbose:
		r.printLong(found, r.contains)
	case r.list:
		r.printProviders(found)
	default:
		r.printShort(found)
	}
	return 0
}
