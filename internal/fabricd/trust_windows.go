package fabricd

import (
	"fmt"
	"syscall"
)

// Check refuses every folder: there is no daemon on Windows.
func Check(dir string) error { return fmt.Errorf("%s: %w", dir, syscall.ENOSYS) }

// trusted is Check.
func trusted(string) bool { return false }
