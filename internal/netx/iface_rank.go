// The order of preference of interfaces.

package netx

import (
	"cmp"
	"slices"
	"strings"
)

// RankInterfaces sorts list, best first: ordinary interfaces, then veth, bridges, Docker's bridges, point-to-point,
// and loopback last. Within a kind, interfaces with a carrier come first, then the faster ones, then IPv4 before
// IPv6, then by name (eth2 before eth10). Equal entries keep their order.
func RankInterfaces(list []Interface) {
	slices.SortStableFunc(list, func(a, b Interface) int {
		return cmp.Or(
			cmp.Compare(rank(a.Kind), rank(b.Kind)),
			cmp.Compare(flag(b.Up), flag(a.Up)),
			cmp.Compare(b.SpeedMbps, a.SpeedMbps),
			cmp.Compare(a.Addr.BitLen(), b.Addr.BitLen()),
			compareNames(a.Name, b.Name),
		)
	})
}

func rank(k IfaceKind) int {
	switch k {
	case KindVeth:
		return 1
	case KindBridge:
		return 2
	case KindDocker:
		return 3
	case KindPointToPoint:
		return 4
	case KindLoopback:
		return 5
	}
	return 0
}

// compareNames orders by the text before a trailing number, then by the number.
func compareNames(a, b string) int {
	at, an := splitName(a)
	bt, bn := splitName(b)
	return cmp.Or(cmp.Compare(at, bt), cmp.Compare(len(an), len(bn)), cmp.Compare(an, bn), cmp.Compare(a, b))
}

// splitName splits off the trailing number, without leading zeros, so that numbers compare by length and then as
// text.
func splitName(s string) (text, number string) {
	text = strings.TrimRight(s, "0123456789")
	return text, strings.TrimLeft(s[len(text):], "0")
}
