//go:build unix

package fabricd

import (
	"fmt"
	"os"
	"syscall"
)

// Check returns an error if the sockets in a folder cannot be trusted. The folder, and a link to it, must belong to
// this user or to root, and other users must not be able to put sockets into it. A link of this user or of root is as
// good as the folder: in /tmp no other user can replace it (the sticky bit, inode(7)).
func Check(dir string) error {
	link, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	for _, i := range []os.FileInfo{link, info} {
		s, ok := i.Sys().(*syscall.Stat_t)
		if !ok {
			return fmt.Errorf("%s: the system does not report its owner", dir)
		}
		if s.Uid != 0 && int(s.Uid) != os.Getuid() {
			return fmt.Errorf("%s belongs to uid %d", dir, s.Uid)
		}
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", dir)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("other users may write to %s (mode %o)", dir, mode)
	}
	return nil
}

// trusted is Check.
func trusted(dir string) bool { return Check(dir) == nil }
