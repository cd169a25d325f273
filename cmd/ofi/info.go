package main

import (
	"cmp"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"gofabric/core"
)

// infoOptions are the flags of ofi info, which are those of fi_info(1).
type infoOptions struct {
	source, node, port                            string
	caps, mode, epType, format                    string
	provider, domain, fabric                      string
	env, list, verbose, version, numeric, why, js bool
	getenv, contains                              string
}

// newInfoCommand is ofi info: it lists the ways to communicate.
func newInfoCommand(a *app) *cobra.Command {
	o := &infoOptions{}
	cmd := &cobra.Command{
		Use:   "info",
		Short: "List the ways to communicate",
		Long:  "List the ways to communicate: providers, interfaces and kinds of endpoint, with the flags and output of fi_info(1).",
		Example: "  ofi info -p tcp -t FI_EP_RDM\n  ofi info -n node7 -P 7471 -v\n" +
			"  ofi info -c 'FI_MSG|FI_ATOMIC' --why",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runInfo(cmd, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.source, "src_addr", "s", "", "source name or `ADDR`ess")
	f.StringVarP(&o.node, "node", "n", "", "destination `NAME` or address")
	f.StringVarP(&o.port, "port", "P", "", "`PORT` number or service name")
	f.BoolVar(&o.numeric, "numeric", false, "do not resolve names")
	f.StringVarP(&o.caps, "caps", "c", "", "one or more capabilities: `CAP1|CAP2`, such as FI_MSG|FI_RMA")
	f.StringVarP(&o.mode, "mode", "m", "", "one or more modes: `MOD1|MOD2`; default all modes")
	f.StringVarP(&o.epType, "ep_type", "t", "", "endpoint type: `EPTYPE` is FI_EP_MSG, FI_EP_DGRAM or FI_EP_RDM")
	f.StringVarP(&o.format, "addr_format", "a", "", "address format: `FMT` such as FI_SOCKADDR_IN")
	f.StringVarP(&o.provider, "provider", "p", "", "provider: `PROV` such as tcp or tcp;ofi_rxm")
	f.StringVarP(&o.domain, "domain", "d", "", "`DOMAIN` name, which is the interface's")
	f.StringVarP(&o.fabric, "fabric", "f", "", "`FABRIC` name, which is the network such as 10.0.0.0/24")
	f.BoolVarP(&o.env, "env", "e", false, "print environment variables")
	f.StringVarP(&o.getenv, "getenv", "g", "", "print environment variables whose name contains `SUBSTR`")
	f.StringVarP(&o.contains, "info", "i", "", "print in full only what contains `SUBSTR`")
	f.BoolVarP(&o.list, "list", "l", false, "list providers")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "print everything about each")
	f.BoolVar(&o.version, "version", false, "print versions")
	f.BoolVar(&o.why, "why", false, "say why the others were refused, and which of several ways will be used")
	f.BoolVar(&o.js, "json", false, "print JSON")
	return cmd
}

// anyMode returns hints that accept all modes, as fi_info's do.
func anyMode() *core.Info {
	h := core.NewHints()
	h.Mode, h.Domain.Mode = math.MaxUint64, math.MaxUint64
	h.Domain.MRMode = math.MaxUint32 &^ (core.MRModeBasic | core.MRModeScalable)
	return h
}

// hints returns the hints of the flags, nil without such flags, as in fi_info: then providers return everything
// they offer.
func (o *infoOptions) hints(changed func(string) bool) (*core.Info, error) {
	h := anyMode()
	used := false
	set := func(flag string, apply func() error) error {
		if !changed(flag) {
			return nil
		}
		used = true
		return apply()
	}
	for _, step := range []struct {
		flag  string
		apply func() error
	}{
		{"caps", func() (err error) { h.Caps, err = core.ParseCaps(o.caps); return }},
		{"mode", func() (err error) { h.Mode, err = core.ParseModes(o.mode); return }},
		{"ep_type", func() (err error) { h.EP.Type, err = core.ParseEPType(o.epType); return }},
		{"addr_format", func() (err error) { h.AddrFormat, err = core.ParseAddrFormat(o.format); return }},
		{"provider", func() error { h.Fabric.ProvName = o.provider; return nil }},
		{"domain", func() error { h.Domain.Name = o.domain; return nil }},
		{"fabric", func() error { h.Fabric.Name = o.fabric; return nil }},
	} {
		if err := set(step.flag, step.apply); err != nil {
			return nil, err
		}
	}
	if !used {
		return nil, nil
	}
	return h, nil
}

func (o *infoOptions) query(changed func(string) bool) (core.Query, error) {
	q := core.Query{Version: core.LibraryVersion, Node: o.node, Service: o.port}
	if changed("src_addr") {
		q.Node, q.Flags = o.source, core.InfoSource
	}
	if o.numeric {
		q.Flags |= core.InfoNumericHost
	}
	if o.list {
		q.Flags |= core.InfoProvAttrOnly
	}
	var err error
	q.Hints, err = o.hints(changed)
	return q, err
}

func (a *app) runInfo(cmd *cobra.Command, o *infoOptions) error {
	changed := cmd.Flags().Changed
	switch {
	case o.version:
		a.printVersions("ofi")
		return nil
	case o.env, changed("getenv"):
		return a.printEnv(o.getenv, o.js)
	}
	q, err := o.query(changed)
	if err != nil {
		return err
	}
	found, refused, err := a.getInfo(q)
	var taken []core.Remark
	if o.why {
		var more []core.Refusal
		more, taken = a.explain(found)
		refused = append(refused, more...)
	}
	if o.js {
		return cmp.Or(a.json(infoReport(found, refused, taken, o)), err)
	}
	switch {
	case err != nil:
	case o.list:
		a.printProviders(found)
	case o.verbose, changed("info"):
		a.printLong(found, o.contains)
	default:
		a.printShort(found)
	}
	if o.why {
		for _, r := range taken {
			a.printf("taken %s\n", r)
		}
		for _, r := range refused {
			a.printf("refused %s\n", r)
		}
	}
	return err
}

func (a *app) printProviders(list []*core.Info) {
	for _, i := range list {
		a.printf("%s:\n    version: %s\n", i.Fabric.ProvName, i.Fabric.ProvVersion)
	}
}

func (a *app) printShort(list []*core.Info) {
	for _, i := range list {
		a.printf("provider: %s\n    fabric: %s\n    domain: %s\n    version: %s\n    type: %s\n    protocol: %s\n",
			i.Fabric.ProvName, i.Fabric.Name, i.Domain.Name, i.Fabric.ProvVersion, i.EP.Type, i.EP.Protocol)
	}
}

func (a *app) printLong(list []*core.Info, contains string) {
	for _, i := range list {
		if text := i.String(); strings.Contains(strings.ToLower(text), strings.ToLower(contains)) {
			a.printf("---\n%s", text)
		}
	}
}
