package tcp

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"gofabric/core"
	"gofabric/provider/tcp/engine"
)

// socketError is a system call's failure on a connection.
type socketError struct {
	call string
	err  unix.Errno
}

func (e *socketError) Error() string { return e.call + ": " + e.err.Error() }
func (e *socketError) Unwrap() error { return e.err }

// canceledBy is why the posted receives of a connection that ended are canceled.
type canceledBy struct{ cause error }

func (e *canceledBy) Error() string { return "operation canceled: " + e.cause.Error() }
func (e *canceledBy) Unwrap() error { return core.ErrCanceled }

// errnoOf maps the engine's and the system's errors to libfabric's numbers.
func errnoOf(err error) core.Errno {
	if _, ok := err.(*canceledBy); ok {
		return core.ErrCanceled
	}
	var sys *socketError
	if errors.As(err, &sys) {
		return core.FromSyscall(sys.err)
	}
	switch err {
	case engine.ErrAgain:
		return core.ErrAgain
	case engine.ErrTruncated:
		return core.ErrTrunc
	case engine.ErrCanceled, engine.ErrClosed:
		return core.ErrCanceled
	case engine.ErrNoMessage:
		return core.ErrNoMsg
	case engine.ErrState:
		return core.ErrOpBadState
	case engine.ErrTooLong:
		return core.ErrInval
	case engine.ErrRefused:
		return core.ErrConnRefused
	case engine.ErrTimeout:
		return core.ErrTimedOut
	case engine.ErrProtocol:
		return core.ErrProto
	case engine.ErrAccess:
		return core.ErrAccess
	case engine.ErrPeerClose:
		return core.ErrConnReset
	}
	var no core.Errno
	if errors.As(err, &no) {
		return no
	}
	var un unix.Errno
	if errors.As(err, &un) {
		return core.FromSyscall(un)
	}
	return core.ErrIO
}

// provErrno is the system's number for an error, where there is one.
func provErrno(err error) int {
	var sys *socketError
	if errors.As(err, &sys) {
		return int(sys.err)
	}
	return int(errnoOf(err))
}

// opError makes the error of a control call.
func opError(op, object string, peer netip.AddrPort, err error, hint string) error {
	p := ""
	if peer.IsValid() {
		p = peer.String()
	}
	if _, ok := err.(*core.OpError); ok {
		return err
	}
	if e, ok := err.(unix.Errno); ok {
		err = core.FromSyscall(e)
	}
	return &core.OpError{Op: op, Provider: "tcp", Object: object, Peer: p, Err: err, Hint: hint}
}

// detail says in a sentence why an operation towards peer failed, and what to do.
func detail(what string, local, peer netip.AddrPort, err error) string {
	hint := ""
	switch errnoOf(err) {
	case core.ErrConnRefused:
		hint = "; is an endpoint listening there?"
	case core.ErrTimedOut:
		hint = "; check the address, the route and the firewall, or raise FI_TCP_CONNECT_TIMEOUT or FI_TCP_PEER_TIMEOUT"
	case core.ErrConnReset:
		hint = "; the peer's process ended or closed its endpoint"
	case core.ErrHostUnreach, core.ErrNetUnreach:
		hint = "; choose another interface with FI_TCP_IFACE"
	case core.ErrAccess:
		hint = "; key, offset or access rights do not fit a registered region"
	case core.ErrMFile:
		hint = "; raise the limit on open files (ulimit -n)"
	}
	l, p := "", ""
	if local.IsValid() {
		l = " from " + local.String()
	}
	if peer.IsValid() {
		p = " to " + peer.String()
	}
	return fmt.Sprintf("tcp: %s%s%s: %v%s", what, l, p, err, hint)
}
