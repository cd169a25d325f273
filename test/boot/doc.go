// Package boot tests how jobs start. Real launchers start processes, which find each other with package gofabric/boot
// and exchange messages.
package boot
