// Package feed tells watchers what happened. It keeps the last changes once, for all of them; a watcher is a place in that history, so that many and slow ones cost
// nothing more. One that falls behind its beginning is told so.
package feed
