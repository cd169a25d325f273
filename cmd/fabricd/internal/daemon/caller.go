package daemon

import (
	"context"
	"net"
	"net/http"
)

// Caller is who sent a request.
type Caller struct {
	UID, GID, PID int  // of a process of this node, as the kernel says (SO_PEERCRED, unix(7)); -1 over TCP
	Remote        bool // over TCP, with a token
}

// Root reports whether the caller may do everything: root, or the daemon's own user.
func (c Caller) Root(daemonUID int) bool { return !c.Remote && (c.UID == 0 || c.UID == daemonUID) }

type callerKey struct{}

// CallerOf returns who sent r.
func CallerOf(r *http.Request) Caller {
	c, ok := r.Context().Value(callerKey{}).(Caller)
	if !ok {
		return Caller{UID: -1, GID: -1, PID: -1, Remote: true}
	}
	return c
}

// withCaller notes who is at the other end of a new connection.
func withCaller(ctx context.Context, conn net.Conn) context.Context {
	c, ok := credentials(conn)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, callerKey{}, c)
}
