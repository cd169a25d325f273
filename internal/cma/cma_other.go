//go:build !linux

package cma

import "gofabric/internal/xnet/engine"

// Only Linux has process_vm_readv(2).

func hostIdentity(*engine.Identity) bool { return false }

func address([]byte) uint64 { return 0 }

func (*slot) address() uint64 { return 0 }

func mapSeals() *seals { return nil }

func readSealed(*engine.CMARequest) engine.CMAResult { return engine.Unreadable }
