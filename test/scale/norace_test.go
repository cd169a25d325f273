//go:build linux && !race

package scale

const raced = false
