//go:build linux

package xdp

const nodeVar = "GOFABRIC_XDP_NODE"

func nodeMain() {}
