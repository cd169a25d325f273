// Package conform is the conformance suite. It tests libfabric's semantics (fi_msg(3), fi_tagged(3), fi_rma(3),
// fi_cq(3), fi_eq(3), fi_cntr(3), fi_av(3), fi_mr(3), fi_endpoint(3), fi_cm(3), fi_poll(3)) over every stack.
//
// A Stack describes how to open a provider. Run runs all themes over it. The suite skips nothing silently. Each theme
// asks GetInfo for the capability that it needs. A stack that refuses must return libfabric's error and must not list
// the capability in Stack.Caps, and its calls must fail.
//
// The fixture is exported for other test packages. Open returns a connected Pair of Sides. A Side's Want, WantErr and
// WantNone wait for completions. Every wait has a deadline. When it expires, it prints the state of both sides.
package conform
