// Package comply acts as an application that does everything that its Info requires (fi_getinfo(3), "MODE"; fi_mr(3)).
// It registers buffers for the time of their operation, gives each operation a context of its own, and leaves room for
// the provider's prefix in messages. So a test that knows nothing of such modes runs over hardware, or over a stack
// that imitates it. The package stands above a stack as a hook (core.Hook).
//
// A call that exceeds the limits of the Info, or that the provider does not implement, ends with a NotOffered error
// that names the reason. Only the Info's own limits count. A refusal that no limit explains remains an error, and so
// does a call beyond a limit that the stack accepts.
package comply
