package netx

import "math"

// DescriptorLimit returns how many descriptors this process may have. Only memory limits it.
func DescriptorLimit() int { return math.MaxInt32 }
