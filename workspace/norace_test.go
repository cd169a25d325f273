//go:build !race

package workspace

const race = false
