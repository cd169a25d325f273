//go:build unix

package boot

import (
	"fmt"
	"os"
	"syscall"
)

// ours refuses a folder that another user may have prepared.
func ours(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(s.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s must be a folder of this user that no other user can change", dir)
	}
	return nil
}
