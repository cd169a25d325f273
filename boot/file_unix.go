//go:build unix

package boot

import (
	"fmt"
	"os"
	"syscall"
)

// ours refuses a folder that somebody else may have prepared.
func ours(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(s.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a folder of this user that nobody else may change", dir)
	}
	return nil
}
