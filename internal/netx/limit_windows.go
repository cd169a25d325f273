package netx

import "math"

// DescriptorLimit is how many descriptors this process may have: as many as there is memory for.
func DescriptorLimit() int { return math.MaxInt32 }
