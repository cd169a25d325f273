package daemon

import (
	"context"
	"net"
	"net/http"
)

// Caller is who sent a request.
type Caller struct {
	UID, GID, PID int  // of a process of this node, as the kernel says (SO_PEERCRED, unix(7)); over TCP the uid that the token stands for, else -1
	Remote        bool // over TCP, with a token
	Admin         bool // a token that may do what root may
}

// nobody is who has shown nothing yet.
var nobody = Caller{UID: -1, GID: -1, PID: -1, Remote: true}

// Root reports whether the caller may do everything: root, the daemon's own user, or who has a token that says so.
func (c Caller) Root(daemonUID int) bool {
	if c.Remote {
		return c.Admin
	}
	return c.UID == 0 || c.UID == daemonUID
}

type callerKey struct{}

// CallerOf returns who sent r.
func CallerOf(r *http.Request) Caller {
	if c, ok := r.Context().Value(callerKey{}).(Caller); ok {
		return c
	}
	return nobody
}

// WithCaller returns a context of a request by c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// withCaller notes who is at the other end of a new connection.
func withCaller(ctx context.Context, conn net.Conn) context.Context {
	c, ok := conn.(*counted)
	if !ok {
		return ctx // TLS: the token says who
	}
	return WithCaller(ctx, c.caller)
}

// Peer asks the kernel who is at the other end of a Unix connection.
func Peer(conn net.Conn) (Caller, bool) { return credentials(conn) }
