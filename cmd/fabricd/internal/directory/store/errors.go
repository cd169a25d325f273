package store

import "errors"

// What can be wrong. The errors returned wrap these.
var (
	ErrNotFound  = errors.New("not found")
	ErrNotYours  = errors.New("belongs to another user")
	ErrQuota     = errors.New("quota reached")
	ErrCompacted = errors.New("history no longer has what came after that revision")
	ErrInvalid   = errors.New("invalid")
	ErrDown      = errors.New("the directory cannot be reached")
)
