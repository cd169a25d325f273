package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const captures = "../../internal/xnet/wire/testdata/"

// runDump runs ofi dump.
func runDump(stdin []byte, args ...string) (out, errOut string, err error) {
	var o, e bytes.Buffer
	root := newRootCommand(&app{out: &o, errOut: &e})
	root.SetArgs(append([]string{"dump"}, args...))
	root.SetIn(bytes.NewReader(stdin))
	err = root.Execute()
	return o.String(), e.String(), err
}

func TestDump(t *testing.T) {
	file := captures + "rdm.pcap"
	out, errOut, err := runDump(nil, file)
	if err != nil || strings.Count(out, "\n") != 20 ||
		!strings.Contains(out, " xnet tag_rts id 0 size 32 (32+0) tag 0x45 ctx 1 msg 400\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if errOut != "39 packets, 1 connections, 20 frames\n" {
		t.Errorf("summary %q", errOut)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if piped, _, err := runDump(b, "-"); err != nil || piped != out {
		t.Errorf("from standard input: %v\n%s", err, piped)
	}
	if out, _, err = runDump(nil, "-v", file); err != nil || !strings.Contains(out, "|rdm message|") {
		t.Errorf("-v: %v\n%s", err, out)
	}
	if out, _, err = runDump(nil, "--json", file); err != nil ||
		!strings.Contains(out, `"cq_data":"0xd0d1d2d3d4d5d6d7","tag":"0x43"`) || strings.Contains(out, `"payload":"`) {
		t.Errorf("--json: %v\n%s", err, out)
	}
	if out, _, err = runDump(nil, "--port", "17237", "--port", "5", file); err != nil ||
		strings.Count(out, "\n") != 20 {
		t.Errorf("--port: %v\n%s", err, out)
	}
	if out, _, err = runDump(nil, "--port", "5", file); err != nil || out != "" {
		t.Errorf("--port 5: %v\n%s", err, out)
	}
	if out, _, err = runDump(b[:len(b)-1], "-"); err == nil || strings.Count(out, "\n") < 10 {
		t.Errorf("cut file: %v\n%s", err, out)
	}
}

func TestDumpErrors(t *testing.T) {
	for _, args := range [][]string{{filepath.Join(t.TempDir(), "none")}, {"--port", "0", captures + "msg.pcap"}, {"--port", "65536", captures + "msg.pcap"}, {}, {"dump.go"}} {
		if _, _, err := runDump(nil, args...); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
