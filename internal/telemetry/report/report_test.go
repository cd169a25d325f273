package report

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gofabric/internal/fabricd"
	"gofabric/internal/telemetry"
)

// silent is a domain without endpoints.
type silent struct{}

func (silent) Observe(*telemetry.Observation) {}

func (silent) Title() (provider, name string) { return "test", "silent" }

// TestFrame: a frame is read as it was written. A frame that is too long, cut off or invalid is an error, and takes
// no memory for bytes that were not sent.
func TestFrame(t *testing.T) {
	var b bytes.Buffer
	if err := WriteFrame(&b, Request{1, 7}, 100); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	var q Request
	if err := ReadFrame(bytes.NewReader(whole), &q, 100); err != nil || q.Seq != 7 {
		t.Errorf("%+v, %v", q, err)
	}
	for n := range whole {
		if err := ReadFrame(bytes.NewReader(whole[:n]), &q, 100); err == nil {
			t.Errorf("a frame cut to %d bytes is accepted", n)
		}
	}
	if err := ReadFrame(bytes.NewReader(whole), &q, 5); !errors.Is(err, errTooLong) {
		t.Errorf("too long: %v", err)
	}
	if err := WriteFrame(&b, strings.Repeat("x", 100), 50); !errors.Is(err, errTooLong) {
		t.Errorf("too long: %v", err)
	}
	if err := ReadFrame(bytes.NewReader(binary.BigEndian.AppendUint32(nil, MaxFrame)), &q, MaxFrame); err == nil {
		t.Error("a frame without its bytes is accepted")
	}
}

// TestAgent: a process with an open domain connects to the daemon and answers it, connects again after it has gone,
// and closes the connection when the last domain closes.
func TestAgent(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(fabricd.EnvDir, dir)
	path := filepath.Join(dir, fabricd.Stats)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	telemetry.SetReporter(Start)
	defer telemetry.SetReporter(nil)
	e := telemetry.Register(silent{}, true)
	for range 2 {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(time.Minute))
		var r Reply
		if err := ReadFrame(c, &r, MaxRequest); err != nil || r.Process.Name != telemetry.Name() ||
			r.Process.Version != telemetry.Version {
			t.Fatalf("the first message: %+v, %v", r, err)
		}
		if err := WriteFrame(c, Request{telemetry.Version, 42}, MaxRequest); err != nil {
			t.Fatal(err)
		}
		if err := ReadFrame(c, &r, MaxFrame); err != nil || r.Seq != 42 || r.Process.PID != os.Getpid() ||
			r.Process.Endpoints == nil {
			t.Fatalf("the answer: %+v, %v", r, err)
		}
		c.Close()
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var r Reply
	c.SetDeadline(time.Now().Add(time.Minute))
	ReadFrame(c, &r, MaxRequest)
	e.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the last domain closed: %v", err)
	}
}
