package cq

import (
	"context"

	"gofabric/core"
)

// This file has the errors of waits and of control calls.

// waitError ends a wait: libfabric's number and the cause. errors.Is matches both.
type waitError struct {
	errno core.Errno
	cause error
}

func (e *waitError) Error() string   { return e.errno.Error() + ": " + e.cause.Error() }
func (e *waitError) Unwrap() []error { return []error{e.errno, e.cause} }

func ended(errno core.Errno, ctx context.Context) error {
	return &waitError{errno, context.Cause(ctx)}
}

func opError(op string, err error, hint string) error {
	return &core.OpError{Op: op, Err: err, Hint: hint}
}
