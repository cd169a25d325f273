package udp

import (
	"syscall"

	"gofabric/core"
	"gofabric/internal/endpoint"
)

var names = endpoint.Names{Provider: "udp", Hints: map[core.Errno]string{
	core.ErrMsgSize:     "shorten the message, or raise FI_UDP_MTU",
	core.ErrHostUnreach: "choose another interface with FI_UDP_IFACE",
	core.ErrNetUnreach:  "choose another interface with FI_UDP_IFACE",
}}

// opError makes the error of a control call.
func opError(op, object string, err error, hint string) error {
	return names.Error(op, object, endpoint.NoPeer, err, hint)
}

// bindHint says what the user can do when an address is not available.
func bindHint(err error) string {
	switch err {
	case syscall.EADDRINUSE:
		return "another socket uses the port: choose another port, or 0"
	case syscall.EADDRNOTAVAIL:
		return "the address is not an address of this machine"
	case syscall.EACCES:
		return "a port below 1024 needs privileges"
	case syscall.EMFILE, syscall.ENFILE:
		return "raise the limit on open files (ulimit -n)"
	}
	return ""
}
