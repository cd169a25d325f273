package daemon

import (
	"context"
	"net"
	"net/http"
)

// Caller is the sender of a request.
type Caller struct {
	UID, GID, PID int  // of a process of this node, from the kernel (SO_PEERCRED, unix(7)); over TCP the uid of the token, else -1
	Remote        bool // over TCP, with a token
	Admin         bool // the token has the rights of root
}

// noCaller is a caller without credentials.
var noCaller = Caller{UID: -1, GID: -1, PID: -1, Remote: true}

// Root reports whether the caller may do everything: root, the daemon's own user, or the owner of an admin token.
func (c Caller) Root(daemonUID int) bool {
	if c.Remote {
		return c.Admin
	}
	return c.UID == 0 || c.UID == daemonUID
}

type callerKey struct{}

// CallerOf returns the sender of r.
func CallerOf(r *http.Request) Caller {
	if c, ok := r.Context().Value(callerKey{}).(Caller); ok {
		return c
	}
	return noCaller
}

// WithCaller returns the context of a request by c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// withCaller adds the process at the other end of a new connection to its context.
func withCaller(ctx context.Context, conn net.Conn) context.Context {
	c, ok := conn.(*counted)
	if !ok {
		return ctx // TLS: the token identifies the caller
	}
	return WithCaller(ctx, c.caller)
}

// Peer returns the process at the other end of a Unix connection, as the kernel knows it.
func Peer(conn net.Conn) (Caller, bool) { return credentials(conn) }
