// Package journal keeps records on disk such that what Append has returned from survives the end of the process and of the machine.
//
// A folder holds logs and snapshots, numbered. Snapshot n has all that logs below n had. A log is a header (magic, random salt, checksum) and frames: length and
// CRC-32C, which begins from the salt, then records, each behind its length. One Append is one frame or a few, and a frame is written only when the one before is on disk:
// so a bad frame at the end is one that nobody was told of, and is cut off; a bad one with a good one behind it is damage, and Open says so. A snapshot is
// written under another name, ends in an empty frame, and gets its name when it is on disk.
package journal
