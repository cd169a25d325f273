package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"gofabric/core"
)

// runFi runs a command line over a fake library, and returns the query that the library received.
func runFi(t *testing.T, infos []*core.Info, refused []core.Refusal, fail error, args ...string) (out string, q core.Query, err error) {
	t.Helper()
	var b bytes.Buffer
	a := &app{out: &b, errOut: &b,
		getInfo: func(got core.Query) ([]*core.Info, []core.Refusal, error) {
			q = got
			return infos, refused, fail
		},
		explain: func([]*core.Info) ([]core.Refusal, []core.Remark) {
			return []core.Refusal{{Provider: "udp", Interface: "lo", Reason: "sockets, for a reason"}}, []core.Remark{{Provider: "udp", Interface: "eth0", EPType: core.EPTypeDgram, Text: "by some way"}}
		},
		params: func() ([]core.ParamValue, error) {
			p, err := core.NewParams(func(k string) (string, bool) { return "tcp udp", k == "FI_PROVIDER" }, "")
			return p.All(), err
		}}
	root := newRootCommand(a)
	root.SetArgs(args)
	err = root.Execute()
	return b.String(), q, err
}

func sample() *core.Info {
	i := core.NewHints()
	i.Caps = core.CapMsg | core.CapSend
	i.EP.Type, i.EP.Protocol = core.EPTypeRDM, core.ProtoXNET
	i.Fabric.Name, i.Fabric.ProvName, i.Fabric.ProvVersion = "192.0.2.0/24", "tcp", core.V(206, 0)
	i.Domain.Name = "eth0"
	return i
}

func TestInfoShort(t *testing.T) {
	out, q, err := runFi(t, []*core.Info{sample()}, nil, nil, "info")
	const want = "provider: tcp\n    fabric: 192.0.2.0/24\n    domain: eth0\n    version: 206.0\n    type: FI_EP_RDM\n    protocol: FI_PROTO_XNET\n"
	if err != nil || out != want || q.Hints != nil || q.Flags != 0 {
		t.Errorf("%v, %+v\n%s", err, q, out)
	}
}

func TestInfoFlags(t *testing.T) {
	_, q, err := runFi(t, nil, nil, nil, "info", "-n", "node7", "-P", "7471", "-c", "FI_MSG|FI_RMA", "-m", "FI_CONTEXT", "-t", "FI_EP_RDM", "-a", "FI_SOCKADDR_IN",
		"-p", "tcp", "-d", "eth0", "-f", "10.0.0.0/24", "--numeric")
	h := q.Hints
	if err != nil || q.Node != "node7" || q.Service != "7471" || q.Flags != core.InfoNumericHost || h.Caps != core.CapMsg|core.CapRMA || h.Mode != core.ModeContext ||
		h.EP.Type != core.EPTypeRDM || h.AddrFormat != core.FormatSockaddrIn || h.Fabric.ProvName != "tcp" || h.Domain.Name != "eth0" ||
		h.Fabric.Name != "10.0.0.0/24" || h.Domain.MRMode&core.MRModeBasic != 0 || h.Domain.MRMode&core.MRModeLocal == 0 {
		t.Errorf("%v, %+v, %v", err, q, h)
	}
	if _, q, _ := runFi(t, nil, nil, nil, "info", "-s", "eth0addr"); q.Flags != core.InfoSource ||
		q.Node != "eth0addr" {
		t.Errorf("%+v", q)
	}
	if out, q, _ := runFi(t, []*core.Info{sample()}, nil, nil, "info", "-l"); q.Flags != core.InfoProvAttrOnly ||
		out != "tcp:\n    version: 206.0\n" {
		t.Errorf("%+v\n%s", q, out)
	}
	for _, bad := range [][]string{{"-c", "FI_ZORK"}, {"-m", "x"}, {"-t", "x"}, {"-a", "x"}, {"extra"}, {"--zork"}} {
		if _, _, err := runFi(t, nil, nil, nil, append([]string{"info"}, bad...)...); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

func TestInfoLongAndFilter(t *testing.T) {
	if out, _, _ := runFi(t, []*core.Info{sample()}, nil, nil, "info", "-v"); out != "---\n"+sample().String() {
		t.Error(out)
	}
	if out, _, _ := runFi(t, []*core.Info{sample()}, nil, nil, "info", "-i", "proto_xnet"); !strings.HasPrefix(out, "---\n") {
		t.Error(out)
	}
	if out, _, _ := runFi(t, []*core.Info{sample()}, nil, nil, "info", "-i", "proto_rxd"); out != "" {
		t.Error(out)
	}
}

func TestInfoWhy(t *testing.T) {
	fail := &core.OpError{Op: "fi_getinfo", Err: core.ErrNoData}
	refused := []core.Refusal{{Provider: "tcp", Interface: "eth0", EPType: core.EPTypeMsg, Reason: "size: too large"}}
	out, _, err := runFi(t, nil, refused, fail, "info", "--why")
	if !errors.Is(err, core.ErrNoData) || out != "taken udp FI_EP_DGRAM eth0: by some way\nrefused tcp FI_EP_MSG eth0: size: too large\nrefused udp lo: sockets, for a reason\n" || exitCode(err) != 61 {
		t.Errorf("%v\n%s", err, out)
	}
	out, _, _ = runFi(t, []*core.Info{sample()}, refused, nil, "info", "--why", "--json", "-v")
	var r struct {
		Infos []struct {
			Provider, Type string
			Caps           []string
			Full           map[string]any
		}
		Taken   []struct{ Provider, Interface, Type, Text string }
		Refused []struct{ Provider, Reason string }
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Infos[0].Provider != "tcp" || r.Infos[0].Type != "FI_EP_RDM" || len(r.Infos[0].Caps) != 2 ||
		r.Infos[0].Full["fi_tx_attr"] == nil || r.Refused[0].Reason != "size: too large" ||
		len(r.Taken) != 1 || r.Taken[0].Type != "FI_EP_DGRAM" || r.Taken[0].Text != "by some way" {
		t.Errorf("%v, %+v\n%s", err, r, out)
	}
}

func TestStrerror(t *testing.T) {
	for arg, want := range map[string]string{"61": "No data available\n", "-61": "No data available\n", "FI_EAVAIL": "Error available\n"} {
		if out, _, err := runFi(t, nil, nil, nil, "strerror", arg); err != nil || out != want {
			t.Errorf("%s: %q, %v", arg, out, err)
		}
	}
	if out, _, _ := runFi(t, nil, nil, nil, "strerror", "1", "2"); out != "1 FI_EPERM: Operation not permitted\n2 FI_ENOENT: No such file or directory\n" {
		t.Error(out)
	}
	if out, _, err := runFi(t, nil, nil, nil, "strerror", "--json", "61"); err != nil ||
		!strings.Contains(out, `"name": "FI_ENODATA"`) {
		t.Errorf("%v\n%s", err, out)
	}
	if _, _, err := runFi(t, nil, nil, nil, "strerror"); err == nil {
		t.Error("strerror without an argument was accepted")
	}
	if _, _, err := runFi(t, nil, nil, nil, "strerror", "zork"); !errors.Is(err, core.ErrInval) {
		t.Error(err)
	}
}

func TestEnv(t *testing.T) {
	out, _, err := runFi(t, nil, nil, nil, "env", "-g", "provider")
	if err != nil || !strings.HasPrefix(out, "# FI_PROVIDER: String\n# Use only") ||
		!strings.Contains(out, "FI_PROVIDER=\"tcp udp\"\n") || strings.Count(out, "\n\n") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	if same, _, _ := runFi(t, nil, nil, nil, "info", "-g", "provider"); same != out {
		t.Errorf("ofi info -g:\n%s", same)
	}
	out, _, _ = runFi(t, nil, nil, nil, "env", "--json")
	var rows []map[string]string
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) < 4 || rows[1]["value"] != "tcp udp" ||
		rows[1]["from"] != "environment" {
		t.Errorf("%v\n%s", err, out)
	}
}
