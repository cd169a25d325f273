// Package goodbye has one process send and close, and another, which reads late, check that everything arrives that had completed: over every reliable stack and
// every way between two processes of one host, with messages of one byte to a MiB, ended by Close, by Shutdown and by CloseWrite. Then the reader must see a
// goodbye, and after a kill none.
package goodbye
