// Package workspace runs the tests of the other modules of the workspace, so that "go test ./..." in the root folder runs all tests: the go command's pattern ends at
// nested modules. "go test work" means the same without it.
package workspace
