// Package journal keeps records on disk. What Append has returned from survives the end of the process and of the machine.
//
// A folder holds numbered logs and snapshots. Snapshot n contains everything in the logs below n. A log is a header (magic, random salt, checksum) followed
// by frames. A frame is a length and a CRC-32C, which begins from the salt, then records, each behind its length. One Append is one frame or a few. A frame
// is written only when the previous one is on disk. A bad frame at the end was therefore never acknowledged, and is cut off. A bad frame with a good one
// behind it is damage, and Open returns an error. A snapshot is written under another name and ends in an empty frame; it gets its own name when it is on
// disk.
package journal
