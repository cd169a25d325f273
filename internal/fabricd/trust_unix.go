//go:build unix

package fabricd

import (
	"os"
	"syscall"
)

// trusted says whether a folder belongs to this user or to root, and nobody else may put sockets there.
func trusted(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || int(s.Uid) == os.Getuid()) && info.Mode().Perm()&0o022 == 0
}
