// Package program builds and runs programs for tests.
//
//   - Build builds commands of this module, once for all test packages, because Go's build cache keeps them.
//   - Start starts a program. A test can read its output and wait for it at any time. The program is killed at the
//     end of its test.
//   - Expect waits for a line among others. Tell and Line are for a program that reads commands and answers, line by
//     line.
//   - Stop ends a program as systemd does, and HangUp ends one that reads commands, by closing its input. Both fail
//     the test unless it exits with status 0. Kill and End accept any status. Wait and Ends wait until it ends
//     without help.
//   - Until waits for a condition while the program runs. (Package wait has waits without a program.) FreeAddress,
//     FreeAddresses and FreePort return addresses for a server, and AwaitListener waits until the server listens.
//
// Every wait ends after 90 seconds, which only a broken program needs. Then the test fails, and a program that it
// waits for gets SIGQUIT, on which Go programs print their goroutines.
package program
