// Package meet has the messages with which the processes of a job meet at rank 0, and what rank 0 makes of them. It does no I/O.
//
// A message is its length (4 bytes, the length of what follows), a byte that says what it is, and its body; numbers are big-endian, texts have their length in
// front. A process says Hello, and Fence with what it has put since its last one; rank 0 answers with Release, which carries what all have put, or with
// Missing when the process has waited long enough. Fail ends the job, Bye is how a process leaves it.
package meet
