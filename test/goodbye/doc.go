// Package goodbye tests that a close loses nothing. One process sends and closes. Another reads late, and checks that
// everything that had completed arrives. The tests run over every reliable stack and every carrier between two
// processes of one host, with messages of one byte to 1 MiB, ended by Close, by Shutdown and by CloseWrite. The reader
// must then see an orderly end, and after a kill a reset.
package goodbye
