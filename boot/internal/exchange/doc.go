// Package exchange has the messages that the processes of a job exchange with rank 0, and rank 0's state. It does
// no I/O.
//
// A message is its length (4 bytes, the length of what follows), a byte with its type, and its body. Numbers are
// big-endian; strings have their length in front. A process sends Hello, then a Fence with what it has put since
// its last one. Rank 0 answers with Release, which carries what all have put, or with Missing when the process has
// waited long enough. Fail ends the job. With Bye a process leaves it.
package exchange
