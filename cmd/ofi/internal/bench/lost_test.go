package bench

import (
	"strings"
	"testing"

	"gofabric/core"
)

// TestLost sends datagrams to a side that does not receive, until it reports a loss.
func TestLost(t *testing.T) {
	stack := Stack{"udp", core.EPTypeDgram}
	var sides [2]*side
	for i := range sides {
		s, err := newSide(testProviders, stack, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		sides[i] = s
	}
	from, to := sides[0], sides[1]
	addr, err := to.listen()
	if err == nil {
		err = from.join(addr)
	}
	if err != nil {
		t.Fatal(err)
	}
	msg := make([]byte, 64)
	sent := 0
	for ; sent < 1<<18 && (sent%1024 != 0 || to.lost() == 0); sent++ {
		if err := from.ep.Inject(msg, from.peer); err != nil && err != core.ErrAgain {
			t.Fatal(err)
		}
	}
	n := to.lost()
	if n == 0 || n > uint64(sent) || from.lost() != 0 {
		t.Fatalf("%d of %d lost; at the sender %d", n, sent, from.lost())
	}
	var late error = core.ErrTimedOut
	if err := withLost(late, n); !mayHaveLost(err) || !strings.Contains(err.Error(), "were lost because the receiver had no room") {
		t.Error(err)
	}
	if withLost(late, 0) != late || withLost(nil, n) != nil || mayHaveLost(core.ErrInval) {
		t.Error("the error changed without a loss, or a loss was reported without an error")
	}
	if text := lostText(1); !strings.HasPrefix(text, "1 datagram was lost") {
		t.Error(text)
	}
}
