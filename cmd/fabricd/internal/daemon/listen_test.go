package daemon

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestBusySocket: a socket whose listen queue is full does not count as that of a dead daemon.
func TestBusySocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for range 64 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			break // EAGAIN
		}
		defer conn.Close()
	}
	s := &Site{Config: config(dir), Log: slog.New(slog.DiscardHandler), Dir: dir}
	defer s.disown()
	if l, err := s.Listen("s"); err == nil || !strings.Contains(err.Error(), "another program serves") {
		if err == nil {
			l.Close()
		}
		t.Errorf("Listen at a socket that is in use: %v", err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen("d"); err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("Listen at a folder: %v", err)
	}
}

// TestUmask: a socket has its mode with any umask. The umask stays the same, and files that other threads make at
// the same time follow it.
func TestUmask(t *testing.T) {
	old := unix.Umask(0o027)
	defer unix.Umask(old)
	for i, with := range []func(int, func()){withUmask, withProcessUmask} {
		dir := t.TempDir()
		with(0o777&^socketMode, func() {
			l, err := net.Listen("unix", filepath.Join(dir, "s"))
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Close()
			if info, err := os.Lstat(filepath.Join(dir, "s")); err != nil || info.Mode().Perm() != socketMode {
				t.Errorf("%d: the socket has mode %v, %v", i, info.Mode(), err)
			}
			if i > 0 || runtime.GOOS != "linux" {
				return
			}
			made := make(chan error)
			go func() { made <- os.Mkdir(filepath.Join(dir, "d"), 0o777) }()
			if err := <-made; err != nil {
				t.Error(err)
			}
			if info, err := os.Lstat(filepath.Join(dir, "d")); err != nil || info.Mode().Perm() != 0o750 {
				t.Errorf("a folder that is made at the same time has mode %v, %v", info.Mode(), err)
			}
		})
		if now := unix.Umask(0o027); now != 0o027 {
			t.Errorf("%d: the umask is %o afterwards", i, now)
		}
	}
}
