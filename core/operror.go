package core

import "strings"

// Error says on one line what was attempted, by which provider, on which object, towards which peer, why it failed
// and what to do about it:
//
//	fi_connect (tcp) 10.0.0.1:0 -> 10.0.0.2:7471: Connection refused (is the server running?)
func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Provider != "" {
		b.WriteString(" (" + e.Provider + ")")
	}
	if e.Object != "" {
		b.WriteString(" " + e.Object)
	}
	if e.Peer != "" {
		b.WriteString(" -> " + e.Peer)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	// The text of a peer or a resolver must not break the line: one error is one line in a log.
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, b.String())
}
