//go:build !linux

package gofabric

// descriptors cannot be seen: 0.
func descriptors() int { return 0 }
