// Package hostile holds tests of bad input: peers that speak something else, lie about lengths, forge keys, stop in the middle or take all descriptors,
// against real listeners and connections. Whatever they do is an error to them and a counted drop here; honest peers at the same time lose nothing.
package hostile
