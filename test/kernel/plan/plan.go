// Package plan is the interface between the test and the virtual machine: the files with the machine's instructions,
// and the format of its results.
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

// Prefixes of the lines that the guest prints.
const (
	Done   = "guest: done"   // number of the command, and "ok" or an error
	Broken = "guest: broken" // the reason why no more commands run
)

// Write returns the text of a plan's file: one item on a line, with tabs between words.
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
