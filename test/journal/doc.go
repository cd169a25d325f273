// Package journal collects what is logged while a test runs: who was refused on this host (internal/trust), and why.
package journal
