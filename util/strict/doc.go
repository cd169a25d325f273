// Package strict makes a stack behave like a hardware provider, so that an application can be tested without the
// hardware. It is a hook (core.Hook) above any stack of this module. It offers what the hardware provider offers,
// demands what it demands, and behaves as it does where the stack below would be more lenient. FI_STRICT names the
// provider.
//
// Hardware answers misuse with a crash, a protection fault or wrong data. This package returns an error that says
// so; docs/strict.md has the list. Each operation costs an allocation or two. Without FI_STRICT the package has no
// cost.
//
// A transfer gets a context of this package on its way down, and its completion gets the application's context back
// (transfer.go). A completion queue collects completions in a window and reports them in another order (queue.go).
// Objects embed those of util/hook, which pass all other calls on.
package strict
