//go:build !windows

package mono

import "time"

// precise returns the time since start. The runtime's clock is as fine as the system's.
func precise(d time.Duration) time.Duration { return d }
