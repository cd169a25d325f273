// Package comply is an application that does whatever its Info demands (fi_getinfo(3), "MODE"; fi_mr(3)), so that a test which knows nothing of such demands
// runs over hardware, or over what behaves like it: buffers are registered for the time of their operation, each operation has a context of its own, messages
// have room for the provider's prefix. It stands above a stack as a hook does (core.Hook).
//
// What goes beyond the limits of the Info, or is no call of the provider's, ends with a NotOffered error that names it. Each limit is the Info's own, so that
// a refusal that no limit explains remains an error, and so does a call beyond a limit that nobody refuses.
package comply
