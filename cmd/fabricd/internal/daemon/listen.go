package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"

	"gofabric/internal/fabricd"
)

// inherited has the sockets that systemd opened for the daemon (sd_listen_fds(3)), by the last elements of their
// paths. They exist while the daemon restarts, so that clients wait instead of failing.
type inherited map[string]*os.File

func inherit(log *slog.Logger) inherited {
	files := inherited{}
	for _, f := range activation.Files(true) {
		addr, err := unix.Getsockname(int(f.Fd()))
		u, ok := addr.(*unix.SockaddrUnix)
		if err != nil || !ok {
			log.Warn("a descriptor from systemd is not a Unix socket", "name", f.Name(), "error", err)
			f.Close()
			continue
		}
		files[filepath.Base(u.Name)] = f
	}
	return files
}

// Listen returns the listener of a stream socket in the daemon's folder, for all users: systemd's, or a new one in
// place of a dead daemon's.
func (s *Site) Listen(name string) (net.Listener, error) {
	if f := s.inherited[name]; f != nil {
		delete(s.inherited, name)
		defer f.Close()
		l, err := net.FileListener(f)
		if err != nil {
			return nil, fmt.Errorf("the socket %s from systemd: %w", name, err)
		}
		if got := l.Addr().Network(); got != "unix" {
			l.Close()
			return nil, fmt.Errorf("the socket %s from systemd is %s, not a stream socket (ListenStream=)", name, got)
		}
		return l, nil
	}
	path := filepath.Join(s.Dir, name)
	if room := len(unix.RawSockaddrUnix{}.Path) - 1; len(path) > room { // unix(7)
		return nil, fmt.Errorf("the path of a socket has at most %d bytes: choose a shorter folder than %s with --dir", room, s.Dir)
	}
	if err := s.own(); err != nil {
		return nil, err
	}
	if err := removeDead(path); err != nil {
		return nil, err
	}
	return bind(path)
}

// own locks the folder for this daemon until disown: two daemons that start at the same time would take each
// other's sockets for dead ones.
func (s *Site) own() error {
	if s.lock != nil {
		return nil
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fmt.Errorf("the folder of the sockets: %w", err)
	}
	if err := fabricd.Check(s.Dir); err != nil {
		return fmt.Errorf("the folder of the sockets: %w: clients do not trust it, choose another one with --dir", err)
	}
	lock, err := os.OpenFile(filepath.Join(s.Dir, "lock"), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("the folder of the sockets: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return fmt.Errorf("another fabricd serves %s: stop it, or choose another folder with --dir", s.Dir)
	}
	s.lock = lock
	return nil
}

// disown unlocks the folder.
func (s *Site) disown() {
	if s.lock != nil {
		s.lock.Close()
		s.lock = nil
	}
}

// removeDead removes a socket of a dead daemon, and nothing else.
func removeDead(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s exists and is not a socket: remove it, or choose another folder with --dir", path)
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
	}
	if !errors.Is(err, unix.ECONNREFUSED) { // EAGAIN: a process listens, but its queue is full (connect(2))
		return fmt.Errorf("another program serves %s: stop it, or choose another folder with --dir", path)
	}
	return os.Remove(path)
}

// socketMode lets all users connect, which on Linux needs write permission (unix(7)).
const socketMode = 0o666

// bind makes a socket that has its mode from the first moment: bind(2) applies the umask to 0777. So it never has
// another mode, and no chmod(2) acts on a path that could change.
func bind(path string) (l net.Listener, err error) {
	withUmask(0o777&^socketMode, func() { l, err = net.Listen("unix", path) })
	return l, err
}

// umasks is held while the process has another umask.
var umasks sync.Mutex

// withProcessUmask runs f with another umask, which applies to the whole process meanwhile.
func withProcessUmask(mask int, f func()) {
	umasks.Lock()
	defer umasks.Unlock()
	old := unix.Umask(mask)
	defer unix.Umask(old)
	f()
}

// closeInherited closes the sockets that no part took.
func (s *Site) closeInherited() {
	for name, f := range s.inherited {
		s.Log.Warn("systemd passed a socket with an unknown name", "name", name)
		f.Close()
	}
	clear(s.inherited)
}
