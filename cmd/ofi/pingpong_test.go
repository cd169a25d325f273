package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"gofabric/cmd/ofi/internal/pingpong"
	"gofabric/core"
)

// parsePingpong returns the configuration for a command line.
func parsePingpong(args ...string) (pingpong.Config, error) {
	f := &pingpongFlags{}
	cmd := &cobra.Command{Use: "pingpong"}
	f.define(cmd.Flags())
	if err := cmd.ParseFlags(args); err != nil {
		return pingpong.Config{}, err
	}
	err := f.parse()
	return f.cfg, err
}

func TestPingpongFlags(t *testing.T) {
	got, err := parsePingpong("-B", "1", "-P", "2", "-d", "lo", "-f", "net", "-s", "10.0.0.1", "-p", "tcp", "-e", "RDM", "-I", "7", "-S", "all", "-c", "-m", "tagged", "-6")
	if err != nil {
		t.Fatal(err)
	}
	if got.SrcPort != 1 || got.DstPort != 2 || got.Domain != "lo" || got.Fabric != "net" || got.SrcAddr != "10.0.0.1" || got.Provider != "tcp" ||
		got.Type != core.EPTypeRDM || got.Iterations != 7 || got.Size != pingpong.AllSizes || !got.Check || !got.Tagged || !got.IPv6 {
		t.Errorf("%+v", got)
	}
	got, err = parsePingpong()
	if err != nil || got.Type != core.EPTypeDgram || got.Iterations != 10 || got.Size != pingpong.UnsetSize ||
		got.Timeout != time.Minute || got.Tagged || got.Check {
		t.Errorf("defaults: %+v, %v", got, err)
	}
	if got, err = parsePingpong("-S", "0"); err != nil || got.Size != 0 {
		t.Errorf("-S 0: %+v, %v", got, err)
	}
	for _, bad := range []string{"-e x", "-m x", "-S -1", "-S 9999999999", "-S 1k", "-B 70000", "-I x", "--timeout 0s", "-x"} {
		if _, err := parsePingpong(strings.Fields(bad)...); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

func TestPingpongJSON(t *testing.T) {
	var out bytes.Buffer
	why := errors.New("it broke")
	cfg := &pingpong.Config{Server: "node7", Type: core.EPTypeMsg, Provider: "tcp", Iterations: 10}
	if err := writePingpongJSON(&out, cfg, []pingpong.Result{{Size: 64, Sent: 10, Acked: 10, Elapsed: time.Millisecond}}, why); err != why {
		t.Fatal(err)
	}
	var doc pingpongJSON
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Role != "client" || doc.Endpoint != "msg" || doc.Error != "it broke" || len(doc.Results) != 1 ||
		doc.Results[0].Total != 1280 || doc.Results[0].USecPerXfer != 50 {
		t.Errorf("%s", &out)
	}
}
