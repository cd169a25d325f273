// Package weight checks the size and contents of a small program: ./hello, which sends a message over tcp and is built
// as a module outside of this one.
package weight
