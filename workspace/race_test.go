//go:build race

package workspace

const race = true
