package daemon

import (
	"errors"
	"fmt"
	"os"

	"gofabric/internal/fabricd"
)

// checkState refuses a state folder into which other users may put files, because it has the token with all rights
// and the key of the certificate. Its user creates a missing folder, for this user alone.
func checkState(dir string) error {
	if dir == "off" {
		return nil
	}
	if err := fabricd.Check(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the state folder: %w: chmod go-w, or choose another one with --state-dir", err)
	}
	return nil
}
