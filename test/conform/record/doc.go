// Package record records which calls, flags and options tests use on a stack, and with which results. It is a hook
// above the stack that changes nothing. docs/features.md is generated from its records, so the page contains only what
// tests have shown.
package record
