//go:build !linux || fabricbasic

// Properties of an interface that follow from its name and flags.

package netx

import "net"

func systemTraits(ifi *net.Interface) traits { return traits{kind: kindByName(ifi)} }
