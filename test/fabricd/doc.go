// Package fabricd tests the daemon as a process: killed and restarted under load, with bad clients, with other users,
// under systemd, and over TCP.
package fabricd
