//go:build unix

package fabricd

import (
	"io/fs"
	"os"
	"syscall"
)

// trusted says whether a folder belongs to this user or to root, and nobody else may put sockets there. If the name is a link, that has to be theirs, too: its owner can have it lead elsewhere at any time.
func trusted(dir string) bool {
	link, err := os.Lstat(dir)
	if err != nil || !ours(link) {
		return false
	}
	info, err := os.Stat(dir)
	return err == nil && ours(info) && info.IsDir() && info.Mode().Perm()&0o022 == 0
}

// ours says whether something belongs to this user or to root.
func ours(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || int(s.Uid) == os.Getuid())
}
