// Package conform is the conformance suite: libfabric's semantics (fi_msg(3), fi_tagged(3), fi_rma(3), fi_cq(3), fi_eq(3), fi_cntr(3), fi_av(3),
// fi_mr(3), fi_endpoint(3), fi_cm(3), fi_poll(3)) as tests that run over every stack.
//
// A Stack says how to get at a provider; Run runs all themes over it. The suite skips nothing silently: each theme asks GetInfo for the capability it
// needs, and a stack that refuses must refuse with libfabric's error, must not list the capability in Stack.Caps, and its calls must fail.
//
// The fixture is exported for other test packages: Open gives a connected Pair of Sides; a Side's Want, WantErr, WantNone wait for completions. Every
// wait has a deadline and, when it expires, prints the state of both sides.
package conform
