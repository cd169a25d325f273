package store

import (
	"errors"
	"fmt"
)

// The errors of a store. Returned errors wrap these.
var (
	ErrNotFound  = errors.New("not found")
	ErrNotYours  = errors.New("belongs to another user")
	ErrQuota     = errors.New("quota reached")
	ErrCompacted = errors.New("the history no longer has the changes after that revision")
	ErrInvalid   = errors.New("invalid")
	ErrDown      = errors.New("the directory cannot be reached")
)

// NotReached is the error of a watch from a future revision.
func NotReached(from, now uint64) error {
	return fmt.Errorf("revision %d: this directory is at revision %d, so the number is from another directory: %w", from, now, ErrCompacted)
}
