package topology

import (
	"embed"
	"fmt"
	"os"
	"slices"
	"strings"
)

//go:embed ready/*.yaml
var ready embed.FS

// Names returns the names of the built-in topologies.
func Names() []string {
	entries, err := ready.ReadDir("ready")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Ready returns the description of a built-in topology.
func Ready(name string) ([]byte, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("there is no ready topology %q; ready topologies are %s", name, strings.Join(Names(), ", "))
	}
	return ready.ReadFile("ready/" + name + ".yaml")
}

// Load reads a built-in topology, or a file if what is a path and not a word.
func Load(what string) (*Topology, error) {
	if data, err := Ready(what); err == nil {
		return Parse(data)
	}
	f, err := os.Open(what)
	if err != nil {
		return nil, fmt.Errorf("%w; ready topologies are %s", err, strings.Join(Names(), ", "))
	}
	defer f.Close()
	t, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return t, nil
}
