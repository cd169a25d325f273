package endpoint

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"gofabric/core"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// Names is how a provider appears in error texts. It does not change after its domain or fabric was opened.
type Names struct {
	Provider string // the provider string of GetInfo: "tcp", "udp;ofi_rxd"
	// Advice for an error, where it differs from the default below: a clause without punctuation.
	Hints map[core.Errno]string
}

// NoPeer is the invalid address: no particular peer, or an unknown one.
var NoPeer netip.AddrPort

// hints is the default advice for an error, for all providers.
var hints = map[core.Errno]string{
	core.ErrConnRefused: "is an endpoint listening there?",
	core.ErrTimedOut:    "check the address, the route and the firewall",
	core.ErrConnReset:   "the peer's process or host died, the path failed, or the peer is native libfabric, which sends no closing message",
	core.ErrShutdown:    "open it again to go on",
	core.ErrAccess:      "key, offset or access rights do not fit a registered region",
	core.ErrKeyRejected: "get the current key (fi_mr_key) from the peer, and keep the region open there until the operation is complete",
	core.ErrMFile:       "raise the limit on open files (ulimit -n)",
}

// Error makes the error of a control call. op is the C name of the call, object the object it was called on, and
// hint what the caller can do. An OpError is returned unchanged.
func (n *Names) Error(op, object string, peer netip.AddrPort, err error, hint string) error {
	p := ""
	if peer.IsValid() {
		p = peer.String()
	}
	if _, ok := err.(*core.OpError); ok {
		return err
	}
	if e, ok := err.(syscall.Errno); ok {
		err = core.FromSyscall(e)
	}
	return &core.OpError{Op: op, Provider: n.Provider, Object: object, Peer: p, Err: err, Hint: hint}
}

// Detail returns the text of an error entry (fi_cq_strerror(3)): why an operation between local and peer failed,
// and what to do about it.
func (n *Names) Detail(what string, local, peer netip.AddrPort, err error) string {
	no := Errno(err)
	hint, ok := n.Hints[no]
	if !ok {
		hint = hints[no]
	}
	if err == engine.ErrAuth {
		hint = "give both endpoints the same authorization key, or none"
	}
	if hint != "" {
		hint = "; " + hint
	}
	l, p := "", ""
	if local.IsValid() {
		l = " from " + local.String()
	}
	if peer.IsValid() {
		p = " to " + peer.String()
	}
	return fmt.Sprintf("%s: %s%s%s: %v%s", n.Provider, what, l, p, err, hint)
}

// Errno maps errors of the engine and of the system, also wrapped ones, to libfabric's numbers (fi_errno(3)).
// Unknown errors become ErrIO.
func Errno(err error) core.Errno {
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
	case engine.ErrTooLong, engine.ErrInvalid:
		return core.ErrInval
	case engine.ErrUnsupported:
		return core.ErrOpNotSupp
	case engine.ErrRefused:
		return core.ErrConnRefused
	case engine.ErrTimeout:
		return core.ErrTimedOut
	case engine.ErrProtocol:
		return core.ErrProto
	case engine.ErrAccess, engine.ErrAuth:
		return core.ErrAccess
	case engine.ErrPersist:
		return core.ErrIO
	case engine.ErrPeerClose:
		return core.ErrConnReset
	case engine.ErrGoodbye:
		return core.ErrShutdown
	}
	var refused *engine.RefusedError
	if errors.As(err, &refused) {
		return refusedErrno(refused.Why)
	}
	var no core.Errno
	if errors.As(err, &no) {
		return no
	}
	var sys syscall.Errno
	if errors.As(err, &sys) {
		return core.FromSyscall(sys)
	}
	return core.ErrIO
}

// refusedErrno maps a peer's refusal of a memory access to an error number. Rights and ranges are FI_EACCES, as in
// ofi_mr_map_verify (libfabric, prov/util/src/util_mr_map.c). That function returns FI_EINVAL for an unknown key.
// Here it is FI_EKEYREJECTED, the number that fi_errno(3) has for this case.
func refusedErrno(why engine.Refusal) core.Errno {
	switch why {
	case wire.RefusedKey:
		return core.ErrKeyRejected
	case wire.RefusedRights, wire.RefusedRange:
		return core.ErrAccess
	case wire.RefusedPersist:
		return core.ErrIO
	case wire.RefusedOp:
		return core.ErrOpNotSupp
	}
	return core.ErrRemoteIO
}

// ProvErrno returns the provider's number for an error: the system's where a system call failed, else libfabric's.
// An error with a cause has the number of its cause.
func ProvErrno(err error) int {
	if c, ok := err.(interface{ Cause() error }); ok {
		err = c.Cause()
	}
	var sys syscall.Errno
	if errors.As(err, &sys) {
		return int(sys)
	}
	return int(Errno(err))
}
