package boot

import (
	"net"

	"gofabric/core"
)

// inherited fails: sockets are not inherited by number on Windows. Launchers there set an address (PMI_PORT).
func inherited(int) (net.Conn, error) { return nil, core.ErrNoSys }
