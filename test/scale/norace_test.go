//go:build !race

package scale

const raced = false
