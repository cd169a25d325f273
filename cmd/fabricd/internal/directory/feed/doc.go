// Package feed reports changes to watchers. It keeps the last changes once, for all watchers. A watcher is a
// position in that history, so that many or slow watchers need no further memory. A watcher that falls behind the
// beginning of the history gets an error.
package feed
