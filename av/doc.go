// Package av is the address vector that all providers share (fi_av(3)): it maps the addresses of peers to indices
// and back.
//
// A peer costs 32 bytes, and 8 to 11 for the reverse look-up: a million of them take about 40 MB. An address that
// is inserted twice keeps its index, and is freed when it was removed as often. New addresses take the lowest free
// index.
//
// # Locking
//
// Lookup, Reverse and similar methods take a read lock. A caller may hold the lock of a domain. Insert and Remove
// call the functions that OnInsert and OnRemove received, which usually take the lock of a domain. Do not call
// Insert or Remove with that lock held.
package av
