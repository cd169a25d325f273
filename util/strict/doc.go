// Package strict makes an application behave as if on hardware: it stands above any stack of this module (core.Hook), offers what a hardware provider
// offers, demands what it demands, and behaves as it does where that is worse than what the stack below would do. FI_STRICT names the provider.
//
// What hardware answers to misuse with a crash, a protection fault or wrong data, this package refuses with an error that says so; docs/strict.md has the
// list. It is for tests: each operation costs an allocation or two. Without FI_STRICT nothing of it is in the way.
//
// A transfer gets a context of this package's own on its way down, and the application's back when its completion comes (transfer.go); a completion queue
// collects completions in a window, and hands them out in another order (queue.go). Objects embed those of util/hook, which pass all other calls on.
package strict
