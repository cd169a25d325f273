package getopt

import (
	"slices"
	"strings"
	"testing"
)

var long = []Option{{Short: 'p', Long: "provider"}, {Short: 'P', Long: "port"}, {Short: 'l', Long: "list", NoArg: true}, {Short: 'v', Long: "verbose", NoArg: true},
	{Long: "version", NoArg: true}}

var short = []Option{{Short: 'p'}, {Short: 'c', NoArg: true}, {Short: '6', NoArg: true}}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		options             []Option
		line                string
		want, args, failure string
	}{
		{long, "", "", "", ""},
		{long, "-p tcp -lv", "provider=tcp list verbose", "", ""},
		{long, "-ptcp host -lPx", "provider=tcp list port=x", "host", ""},
		{long, "--provider tcp --prov=udp --verb --port=", "provider=tcp provider=udp verbose port=", "", ""},
		{long, "-p -l - -l", "provider=-l list", "-", ""},
		{long, "--port --list", "port=--list", "", ""},
		{long, "a -l -- -v --list", "list", "a -v --list", ""},
		{long, "-l -x -v", "list", "", "invalid option -- 'x'"},
		{long, "-lp", "list", "", "option requires an argument -- 'p'"},
		{long, "--provider", "", "", "option '--provider' requires an argument"},
		{long, "--prov", "", "", "option '--provider' requires an argument"},
		{long, "--nope=3", "", "", "unrecognized option '--nope=3'"},
		{long, "--lis=3", "", "", "option '--list' doesn't allow an argument"},
		{long, "--p=x", "", "", "option '--p' is ambiguous; possibilities: '--provider' '--port'"},
		{long, "--ver", "", "", "option '--ver' is ambiguous; possibilities: '--verbose' '--version'"},
		{short, "-c6 host -p tcp -- -c", "c 6 p=tcp", "host -c", ""},
		{short, "--help", "", "", "invalid option -- '-'"},
		{short, "-c-6", "c", "", "invalid option -- '-'"},
	} {
		p := New(strings.Fields(c.line), c.options)
		var got []string
		var failure string
		for {
			o, value, err := p.Next()
			if err != nil {
				failure = err.Error()
			}
			if o == nil {
				break
			}
			name := o.Long
			if name == "" {
				name = string(o.Short)
			}
			if !o.NoArg {
				name += "=" + value
			}
			got = append(got, name)
		}
		if !slices.Equal(got, strings.Fields(c.want)) || failure != c.failure ||
			failure == "" && !slices.Equal(p.Args(), strings.Fields(c.args)) {
			t.Errorf("%q: %q, arguments %q, error %q", c.line, got, p.Args(), failure)
		}
	}
}
