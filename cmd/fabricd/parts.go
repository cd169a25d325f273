package main

import (
	"gofabric/cmd/fabricd/internal/daemon"
	"gofabric/cmd/fabricd/internal/directory"
	"gofabric/cmd/fabricd/internal/processes"
	"gofabric/cmd/fabricd/internal/web"
)

// parts returns the parts of a daemon in the order in which they start.
func parts(*daemon.Config) []daemon.Part {
	return []daemon.Part{
		directory.New(),
		processes.New(),
		web.New(),
	}
}
