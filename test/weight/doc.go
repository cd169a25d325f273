// Package weight checks what a small program contains: ./hello, which sends a message over tcp, built as a module outside this one.
package weight
