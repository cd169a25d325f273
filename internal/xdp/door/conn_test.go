//go:build linux

package door

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ends makes a conversation, and gives the raw side of a client that says what it likes.
func ends(t *testing.T) (raw *net.UnixConn, server *Conn) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	server = New(s)
	t.Cleanup(func() { client.Close(); server.Close() })
	server.SetDeadline(time.Now().Add(20 * time.Second))
	return client.c, server
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestMalformed: what is no message is an error, and leaves no descriptor behind.
func TestMalformed(t *testing.T) {
	raw, server := ends(t)
	var many []int
	for range 100 {
		many = append(many, 0)
	}
	for name, c := range map[string]struct {
		text  string
		files []int
	}{
		"no JSON": {"open", []int{0}}, "cut": {`{"op":"open"`, []int{0}}, "a field nobody knows": {`{"op":"open","root":true}`, []int{0}},
		"two values": {`{"op":"open"} {"op":"open"}`, nil}, "too long": {`{"op":"` + strings.Repeat("x", MessageMax) + `"}`, []int{0}},
		"many descriptors": {`{"op":"open"}`, []int{0, 1, 2}}, "more than there is room for": {`{"op":"open"}`, many},
		"no address": {`{"op":"bind","address":"10.0.0.1:99999"}`, []int{0}},
	} {
		before := openFiles(t)
		if _, _, err := raw.WriteMsgUnix([]byte(c.text), unix.UnixRights(c.files...), nil); err != nil {
			t.Fatal(err)
		}
		var r Request
		if files, err := server.Receive(&r, 1); err == nil || files != nil {
			t.Errorf("%s: %+v, %v", name, r, files)
		}
		if now := openFiles(t); now != before {
			t.Errorf("%s: %d descriptors, %d before", name, now, before)
		}
	}
	raw.Close()
	if _, err := server.Receive(&Request{}, 1); !errors.Is(err, io.EOF) {
		t.Errorf("the other side has gone: %v", err)
	}
}
