// Package plan is what the virtual machine is told to do, and how it says what came of it.
package plan

import (
	"os"
	"strings"
)

// Files of the plan, in the guest.
const (
	Modules  = "/plan/modules"  // paths of kernel modules, in the order to load them
	Commands = "/plan/commands" // commands; the first word of each is the folder that it runs in
)

// What begins the lines that the guest says.
const (
	Done   = "guest: done"   // number of the command, and "ok" or an error
	Broken = "guest: broken" // nothing more is done, because
)

// Write returns the text of a file of the plan: one item a line, words apart by tabs.
func Write(items [][]string) string {
	var b strings.Builder
	for _, words := range items {
		b.WriteString(strings.Join(words, "\t") + "\n")
	}
	return b.String()
}

// Read reads a file of the plan.
func Read(path string) (items [][]string, err error) {
	b, err := os.ReadFile(path)
	for line := range strings.Lines(string(b)) {
		items = append(items, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return items, err
}
