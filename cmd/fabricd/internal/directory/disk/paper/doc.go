// Package paper is a disk for tests, which keeps apart what programs see and what is durable, by the worst that POSIX allows: the end of the machine takes what was
// not synced, in any order and in parts; where fsync(2) fails nobody knows what is durable, and the kernel takes it for clean.
package paper
