// Package program builds and runs programs for tests.
//
//   - Build makes commands of this module, and does so once for all test packages: Go's build cache keeps them.
//   - Start starts a program: what it prints can be read and waited for at any time, and it does not outlive its test.
//   - Expect waits for a line among others. Tell and Line are for a program that is told what to do and answers, line by line.
//   - Stop ends it as systemd does and wants it to end well, HangUp one that is talked to, by ending its input; Kill and End do not mind how. Wait and Ends wait
//     until it ends by itself.
//   - Until waits for something that comes about while the program runs (package wait has waits that no program is part of). FreeAddress, FreeAddresses
//     and FreePort are where a server may listen, AwaitListener waits until it does.
//
// Every wait ends: after 90 seconds, which nothing takes unless something is broken, the test fails, and a program that is waited for is made to say what it is
// doing (SIGQUIT, with which Go programs print their goroutines).
package program
