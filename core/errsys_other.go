//go:build !linux

package core

// linuxNumbers: the system has numbers of its own.
const linuxNumbers = false
