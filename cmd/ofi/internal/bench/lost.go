package bench

import (
	"errors"
	"fmt"
	"time"

	"gofabric/core"
	"gofabric/internal/dgramep"
	"gofabric/util/rxd"
)

// This file counts datagrams that arrived and were dropped, because they distort a measurement.

// lastWords is the time that a measuring process waits for the peer's report of losses, after its own loop has
// timed out.
const lastWords = 2 * time.Second

// lost returns the number of datagrams that the endpoint had no room for since it was opened: in the socket's
// receive buffer, or in posted receives. It is 0 for an endpoint that does not count them.
func (s *side) lost() uint64 {
	if s.ep == nil {
		return 0
	}
	if st, ok := dgramep.StatsOf(s.ep.Driver()); ok {
		return st.Overflows + st.Unposted
	}
	if st, ok := rxd.StatsOf(s.ep.Driver()); ok {
		return st.Port.Overflows
	}
	return 0
}

// lostText explains n lost datagrams.
func lostText(n uint64) string {
	noun := "datagrams were"
	if n == 1 {
		noun = "datagram was"
	}
	return fmt.Sprintf("%d %s lost because the receiver had no room (raise FI_UDP_RECV_BUFFER)", n, noun)
}

// withLost adds the number of lost datagrams to an error.
func withLost(err error, n uint64) error {
	if err == nil || n == 0 {
		return err
	}
	return fmt.Errorf("%w; %s", err, lostText(n))
}

// mayHaveLost reports whether loss can cause an error.
func mayHaveLost(err error) bool { return errors.Is(err, core.ErrTimedOut) }
