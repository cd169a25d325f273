// Package strict makes an application behave as if on hardware: it stands above any stack of this module (core.Overlay), offers what a hardware provider
// offers, demands what it demands, and behaves as it does where that is worse than what the stack below would do. FI_STRICT names the provider.
//
// What hardware answers to misuse with a crash, a protection fault or wrong data, this package refuses with an error that says so; docs/strict.md has the
// list. It is for tests: each operation costs an allocation or two. Without FI_STRICT nothing of it is in the way.
//
// An operation gets a context of this package's own on its way down, and its own one back when its completion comes (op.go); a completion queue collects
// completions in a window, and hands them out in another order (queue.go). Objects embed those below, so that calls that nobody needs to look at pass.
package strict
