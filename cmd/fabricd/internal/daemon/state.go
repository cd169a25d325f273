package daemon

import (
	"errors"
	"fmt"
	"os"

	"gofabric/internal/fabricd"
)

// checkState refuses a state folder into which others may put files: the token with all rights is read from there, and the key of the certificate. One that is not
// there is made by who needs it, for this user alone.
func checkState(dir string) error {
	if dir == "off" {
		return nil
	}
	if err := fabricd.Check(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the state folder: %w: chmod go-w, or choose another one with --state-dir", err)
	}
	return nil
}
