package wire

import "strconv"

// Flags are the flag bits of a transfer header. Bits without a name are ignored, and kept when a decoded header is
// encoded again.
type Flags uint16

// The flag bits.
const (
	FlagCQData   Flags = 1 << 0 // has remote CQ data (FI_REMOTE_CQ_DATA)
	FlagDelivery Flags = 1 << 2 // acknowledge when received (FI_DELIVERY_COMPLETE)
	FlagCommit   Flags = 1 << 3 // acknowledge when persistent (FI_COMMIT_COMPLETE)
	FlagMatch    Flags = 1 << 4 // send ExtMatched when it meets a receive (FI_MATCH_COMPLETE); gofabric peers only

	// FlagTagged on OpMsg says that the header has a tag. libfabric 1.17 sends it for ofi_rxm over tcp. 2.6 does
	// not know the bit and takes such a message for an untagged one.
	FlagTagged Flags = 1 << 7
)

var flagNames = [...]struct {
	bit  Flags
	name string
}{
	{FlagCQData, "cq_data"}, {FlagDelivery, "delivery"}, {FlagCommit, "commit"}, {FlagMatch, "match"}, {FlagTagged, "tagged"},
}

// String lists the flags, as in cq_data|delivery|0x40; "0" if there is none.
func (f Flags) String() string {
	if f == 0 {
		return "0"
	}
	var s string
	for _, n := range flagNames {
		if f&n.bit != 0 {
			s += "|" + n.name
			f &^= n.bit
		}
	}
	if f != 0 {
		s += "|0x" + strconv.FormatUint(uint64(f), 16)
	}
	return s[1:]
}
