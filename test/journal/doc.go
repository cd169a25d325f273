// Package journal collects log lines during a test: which process was refused on this host (internal/trust), and why.
package journal
