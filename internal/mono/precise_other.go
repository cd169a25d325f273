//go:build !windows

package mono

import "time"

// precise is the time since start: the runtime's clock is as fine as the system's.
func precise(d time.Duration) time.Duration { return d }
