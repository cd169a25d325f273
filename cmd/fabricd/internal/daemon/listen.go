package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"
)

// inherited are the sockets that systemd opened for the daemon (sd_listen_fds(3)), by the last elements of their paths. They outlive it, so that clients of a
// daemon that is restarted wait instead of failing.
type inherited map[string]*os.File

func inherit(log *slog.Logger) inherited {
	files := inherited{}
	for _, f := range activation.Files(true) {
		addr, err := unix.Getsockname(int(f.Fd()))
		u, ok := addr.(*unix.SockaddrUnix)
		if err != nil || !ok {
			log.Warn("a descriptor from systemd that is no Unix socket", "name", f.Name(), "error", err)
			f.Close()
			continue
		}
		files[filepath.Base(u.Name)] = f
	}
	return files
}

// Listen returns the listener of a socket for everybody in the daemon's folder: systemd's, or a new one in place of one that a dead daemon left behind.
// network is "unix" or "unixpacket".
func (s *Site) Listen(network, name string) (net.Listener, error) {
	if f := s.inherited[name]; f != nil {
		delete(s.inherited, name)
		defer f.Close()
		l, err := net.FileListener(f)
		if err != nil {
			return nil, fmt.Errorf("the socket %s from systemd: %w", name, err)
		}
		if got := l.Addr().Network(); got != network {
			l.Close()
			return nil, fmt.Errorf("the socket %s from systemd is %s, not %s", name, got, network)
		}
		return l, nil
	}
	path := filepath.Join(s.Dir, name)
	if room := len(unix.RawSockaddrUnix{}.Path) - 1; len(path) > room { // unix(7)
		return nil, fmt.Errorf("the path of a socket has at most %d bytes: choose a shorter folder than %s with --dir", room, s.Dir)
	}
	if conn, err := net.Dial(network, path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("another fabricd serves %s: stop it, or choose another folder with --dir", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen(network, path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o666); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// closeInherited closes what no part took.
func (s *Site) closeInherited() {
	for name, f := range s.inherited {
		s.Log.Warn("a socket from systemd that nobody knows", "name", name)
		f.Close()
	}
	clear(s.inherited)
}
