// Package av is the address vector that all providers share (fi_av(3)): it maps the addresses of peers to indices and back.
//
// A peer costs 32 bytes, and 8 to 11 for the reverse look-up, a million of them about 40 MB. An address inserted twice keeps its index and is
// gone when it was removed as often. New addresses take the lowest free index.
//
// # Locking
//
// Lookup, Reverse and their like take a read lock and may be called with the lock of a domain held. Insert and Remove call the functions given to OnInsert
// and OnRemove, which usually take the lock of a domain: do not call Insert or Remove with it held.
package av
