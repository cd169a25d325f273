// Package av is the address vector that all providers share (fi_av(3)): it maps the addresses of peers to indices and back.
//
// A peer costs 32 bytes, and 8 to 11 for the reverse look-up; a million of them take about 40 MB. An address inserted twice keeps its index and is gone
// when it was removed as often. New addresses take the lowest free index.
//
// # Locking
//
// Lookup, Reverse and similar methods take a read lock. They may be called with the lock of a domain held. Insert and Remove call the functions given to
// OnInsert and OnRemove, which usually take the lock of a domain. Do not call Insert or Remove with that lock held.
package av
