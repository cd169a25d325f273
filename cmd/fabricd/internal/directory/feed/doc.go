// Package feed reports changes to watchers. It keeps the last changes once, for all watchers. A watcher is a position in that history, so many and slow
// watchers cost nothing more. A watcher that falls behind the beginning of the history gets an error.
package feed
