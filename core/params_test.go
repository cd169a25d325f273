package core_test

import (
	"errors"
	"strings"
	"testing"

	"gofabric/core"
)

func lookupIn(m map[string]string) func(string) (string, bool) {
	return func(k string) (string, bool) { v, ok := m[k]; return v, ok }
}

var testParams = []core.Param{
	{Provider: "tcp", Name: "tx_size", Type: core.ParamSize, Default: "256", Help: "queue"},
	{Provider: "tcp", Name: "iface", Type: core.ParamString, Help: "interfaces"},
	{Provider: "ofi_rxm", Name: "rescan", Type: core.ParamBool, Help: "rescan"},
}

func TestParamsSources(t *testing.T) {
	const conf = "# comment\nFI_TCP_IFACE = eth9 \nnonsense\nFI_TCP_IFACE=second\n=empty\nFI_TCP_TX_SIZE=64\n"
	for _, c := range []struct {
		name        string
		env         map[string]string
		iface, from string
		size        int
	}{
		{"file only", nil, "eth9", "libfabric.conf", 64},
		{"environment wins", map[string]string{"FI_TCP_IFACE": "eth1"}, "eth1", "environment", 64},
		{"empty is set", map[string]string{"FI_TCP_IFACE": ""}, "", "environment", 64},
		{"file preferred", map[string]string{"FI_TCP_IFACE": "eth1", "FI_PREFER_SYSCONFIG": "yes",
			"FI_TCP_TX_SIZE": "1"}, "eth9", "libfabric.conf", 64},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := core.NewParams(lookupIn(c.env), conf)
			if err != nil {
				t.Fatal(err)
			}
			p.Define(testParams...)
			if got, err := p.String("tcp", "iface"); got != c.iface || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			if got, err := p.Size("tcp", "tx_size"); got != c.size || err != nil {
				t.Errorf("%d, %v", got, err)
			}
			found := false
			for _, v := range p.All() {
				if v.Var() == "FI_TCP_IFACE" {
					found = true
					if v.Value != c.iface || v.From != c.from || !v.Set {
						t.Errorf("%+v", v)
					}
				}
			}
			if !found {
				t.Error("a defined parameter is not listed")
			}
		})
	}
}

func TestParamsTypes(t *testing.T) {
	for _, c := range []struct {
		value string
		n     int // -1: an error
		size  int
		truth int
	}{
		{"1", 1, 1, 1}, {"0", 0, 0, 0}, {"0x10", 16, 16, -1}, {"010", 8, 8, -1}, {" 7 ", 7, 7, -1},
		{"-1", -1, core.MaxSize, -1},
		{"on", -1, -1, 1}, {"OFF", -1, -1, 0}, {"Yes", -1, -1, 1}, {"no", -1, -1, 0}, {"TRUE", -1, -1, 1},
		{"maybe", -1, -1, -1},
		{"18446744073709551615", -1, core.MaxSize, -1}, {"99999999999999999999", -1, -1, -1}, {"12x", -1, -1, -1},
		{"", 0, 0, 0},
	} {
		p, err := core.NewParams(lookupIn(map[string]string{"FI_X_Y": c.value}), "")
		if err != nil {
			t.Fatal(err)
		}
		check := func(kind string, got int, err error, want int) {
			t.Helper()
			switch {
			case want == -1 && c.value != "-1" && (!errors.Is(err, core.ErrInval) ||
				!strings.Contains(err.Error(), "FI_X_Y")):
				t.Errorf("%s %q: %d, %v", kind, c.value, got, err)
			case want != -1 && (err != nil || got != want):
				t.Errorf("%s %q: %d, %v; want %d", kind, c.value, got, err, want)
			}
		}
		n, err := p.Int("x", "y")
		check("int", n, err, c.n)
		n, err = p.Size("x", "y")
		check("size", n, err, c.size)
		b, err := p.Bool("x", "y")
		n = 0
		if b {
			n = 1
		}
		check("bool", n, err, c.truth)
	}
}

func TestParamsDefaultsAndNil(t *testing.T) {
	var none *core.Params
	if n, err := none.Size("tcp", "tx_size"); n != 0 || err != nil || none.All() != nil {
		t.Errorf("nil: %d, %v", n, err)
	}
	p, _ := core.NewParams(nil, "")
	p.Define(testParams...)
	p.Define(core.Param{Provider: "tcp", Name: "tx_size", Type: core.ParamSize, Default: "512"})
	if n, err := p.Size("tcp", "tx_size"); n != 512 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, ok := p.Lookup("tcp", "tx_size"); ok {
		t.Error("a default counts as set")
	}
	if _, err := core.NewParams(lookupIn(map[string]string{"FI_PREFER_SYSCONFIG": "perhaps"}), ""); !errors.Is(err,
		core.ErrInval) {
		t.Errorf("%v", err)
	}
}
