// Package workspace runs the tests of the other modules of the workspace. The go command's pattern ./... ends at
// nested modules, so "go test ./..." in the root folder would not run them. "go test work" runs the same tests
// without this package.
package workspace
