//go:build unix

package main

import (
	"os"
	"sync"
	"testing"

	"gofabric/test/program"
)

// builds makes ofi and fabricd once, for the first test that runs them.
var builds = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "ofi-test-"); err != nil {
		return "", err
	}
	made = dir
	return dir, program.Build(dir, "gofabric/cmd/ofi", "gofabric/cmd/fabricd")
})

// made is what TestMain removes: the folder of builds, if it was made.
var made string

// built returns the folder that has the programs ofi and fabricd.
func built(t *testing.T) string {
	t.Helper()
	dir, err := builds()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	if made != "" {
		os.RemoveAll(made)
	}
	os.Exit(code)
}
