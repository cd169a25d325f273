// Package fabricd tests the daemon as a process: killed and started again under load, with bad clients, other users, systemd's ways, and over TCP.
package fabricd
