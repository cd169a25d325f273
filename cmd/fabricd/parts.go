package main

import (
	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/directory"
	"gofabric/cmd/fabricd/internal/processes"
	"gofabric/cmd/fabricd/internal/web"
)

// parts are what a daemon is made of, in the order in which they start.
func parts(*daemon.Config) []daemon.Part {
	return []daemon.Part{
		directory.New(),
		processes.New(),
		web.New(),
	}
}
