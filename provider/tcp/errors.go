package tcp

import (
	"net/netip"
	"syscall"

	"gofabric/core"
	"gofabric/internal/endpoint"
)

var noPeer = endpoint.NoPeer

// names is the provider's name in errors. It is "tcp" even if FI_TCP_PROV_NAME sets another name.
var names = endpoint.Names{Provider: "tcp", Hints: map[core.Errno]string{
	core.ErrTimedOut:    "check the address, the route and the firewall, or raise FI_TCP_CONNECT_TIMEOUT or FI_TCP_PEER_TIMEOUT",
	core.ErrHostUnreach: "choose another interface with FI_TCP_IFACE",
	core.ErrNetUnreach:  "choose another interface with FI_TCP_IFACE",
}}

// opError makes the error of a control call.
func opError(op, object string, peer netip.AddrPort, err error, hint string) error {
	return names.Error(op, object, peer, err, hint)
}

// socketError is the failure of a system call on a connection.
type socketError struct {
	call string
	err  syscall.Errno
}

func (e *socketError) Error() string { return e.call + ": " + e.err.Error() }
func (e *socketError) Unwrap() error { return e.err }

// canceledBy is the error of posted receives that are canceled because their connection has ended.
type canceledBy struct{ cause error }

func (e *canceledBy) Error() string { return "operation canceled: " + e.cause.Error() }
func (e *canceledBy) Unwrap() error { return core.ErrCanceled }
func (e *canceledBy) Cause() error  { return e.cause }
