package dropin

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/internal/telemetry"
	"gofabric/internal/telemetry/report"
	"gofabric/test/program"
)

// TestDaemon checks that a C program on the library registers with the daemon, and reports its figures.
func TestDaemon(t *testing.T) {
	needs(t, "fi_pingpong")
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, fabricd.Stats))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	env, port := append(onOurs(t), fabricd.EnvDir+"="+dir), program.FreePort(t)
	args := []string{"-p", "udp;ofi_rxd", "-e", "rdm", "-I", "100000000"}
	server := start(ctx, t, env, "fi_pingpong", append([]string{"-B", port}, args...)...)
	told := make(chan *telemetry.Process, 1)
	go func() {
		defer close(told)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(runLimit))
		var r report.Reply
		if report.ReadFrame(c, &r, report.MaxRequest) != nil || r.Process.Name != "fi_pingpong" {
			return
		}
		for seq := uint64(1); ; seq++ {
			if report.WriteFrame(c, report.Request{Version: telemetry.Version, Seq: seq}, report.MaxRequest) != nil ||
				report.ReadFrame(c, &r, report.MaxFrame) != nil {
				return
			}
			if len(r.Process.Totals) > 0 && r.Process.Totals[0].Counters["operations.send"] > 0 {
				told <- r.Process
				return
			}
			time.Sleep(10 * time.Millisecond) // between two requests
		}
	}()
	for server.Running() && ctx.Err() == nil { // the client cannot know when the server listens
		client := start(ctx, t, env, "fi_pingpong", append(append([]string{"-P", port}, args...), "127.0.0.1")...)
		select {
		case <-client.Done():
		case p := <-told:
			if p == nil || p.Totals[0].Provider != "udp;ofi_rxd" ||
				p.Totals[0].Counters["operations.receive"] == 0 || len(p.Endpoints) != 1 {
				t.Errorf("the program reported %+v", p)
			}
			return
		}
	}
	t.Fatalf("the program reported nothing; the server: %s", server.String())
}
