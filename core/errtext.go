package core

import (
	"fmt"
	"strings"
)

// Error returns fi_strerror(3)'s text for e.
func (e Errno) Error() string { return fmt.Sprintf("errno %d", int(e)) }

// Error says on one line what was attempted, by which provider, on which object, towards which peer, why it failed and what to do.
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
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}
