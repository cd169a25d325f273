package bench

import (
	"errors"
	"fmt"
	"time"

	"gofabric/core"
	"gofabric/internal/dgramep"
	"gofabric/util/rxd"
)

// Datagrams that came and were not taken: whoever measures wants to know.

// lastWords is how long a measuring process whose own loop gave up waits for the other process to say what it lost.
const lastWords = 2 * time.Second

// lost is how many datagrams the endpoint had no room for since it was opened: in the socket's receive buffer, or beside posted receives. 0 for an endpoint
// that does not count them.
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

// lostText says what n lost datagrams mean.
func lostText(n uint64) string {
	noun := "datagrams were"
	if n == 1 {
		noun = "datagram was"
	}
	return fmt.Sprintf("%d %s lost for want of room at the receiver (FI_UDP_RECV_BUFFER)", n, noun)
}

// withLost adds to an error how many datagrams were lost.
func withLost(err error, n uint64) error {
	if err == nil || n == 0 {
		return err
	}
	return fmt.Errorf("%w; %s", err, lostText(n))
}

// mayHaveLost reports whether an error is what loss leads to.
func mayHaveLost(err error) bool { return errors.Is(err, core.ErrTimedOut) }
