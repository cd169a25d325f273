// Package record notes which calls, flags and options a test really made of a stack, and how they ended: a hook above the stack that changes nothing.
// docs/features.md is made of its notes, so that the page says what tests have shown and nothing else.
package record
