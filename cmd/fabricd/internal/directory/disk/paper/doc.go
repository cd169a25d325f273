// Package paper is a disk for tests. It keeps what programs see apart from what is durable, by the worst behaviour that POSIX allows. When the machine
// ends, data that was not synced is lost, in any order and in parts. When fsync(2) fails, it is unknown what is durable, and the kernel takes the data for
// clean.
package paper
