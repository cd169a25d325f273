package main

import "gofabric/cmd/fabricd/internal/daemon"

// parts are what a daemon is made of, in the order in which they start.
func parts(*daemon.Config) []daemon.Part {
	return nil
}
