//go:build !linux || fabricbasic

// What can be told of an interface from its name and flags.

package netx

import "net"

func systemTraits(ifi *net.Interface) traits { return traits{kind: kindByName(ifi)} }
