package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// test is a line of a list of runfabtests.sh.
type test struct {
	line string // program and arguments
	kind string // unit: one process; complex, multinode; all others have a client and a server
}

// negative tests pass if they find no provider.
const negative = "negative"

// lists are the sets of tests that "quick" and "all" name, as in runfabtests.sh.
var lists = map[string]string{
	"quick": "unit,negative,functional,short",
	"all":   "unit,negative,regression,functional,standard,complex,multinode,threaded",
}

var array = regexp.MustCompile(`(?ms)^(\w+)_tests=\((.*?)^\)`)
var quoted = regexp.MustCompile(`"([^"]+)"`)

// readLists reads the tests of sets from the script that comes with fabtests.
func readLists(script, sets string) ([]test, error) {
	text, err := os.ReadFile(script)
	if err != nil {
		return nil, err
	}
	found := map[string][]test{}
	for _, m := range array.FindAllStringSubmatch(string(text), -1) {
		name := m[1]
		if name == "neg_unit" {
			name = negative
		}
		for _, q := range quoted.FindAllStringSubmatch(m[2], -1) {
			found[name] = append(found[name], test{line: strings.TrimSpace(q[1]), kind: name})
		}
	}
	if l, ok := lists[sets]; ok {
		sets = l
	}
	var all []test
	for _, s := range strings.Split(sets, ",") {
		if len(found[s]) == 0 {
			return nil, fmt.Errorf("%s has no list %q", script, s)
		}
		all = append(all, found[s]...)
	}
	return slices.Clip(all), nil
}
