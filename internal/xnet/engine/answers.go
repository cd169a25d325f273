package engine

// answersMax is how many acknowledgements and OpCTS may wait for a peer that does not read them, before it is not
// read, either. It is far more than a correct peer has under way: two ends that both stopped reading would wait for
// each other forever.
const answersMax = 1 << 16

// answerBudget is an upper bound of the answers that wait for transmission. They share chunks with messages, so
// they are counted in two generations. The older one is forgotten when the stream has passed its end. Positions in
// the stream are arguments: sent is the number of bytes that have left, end is behind the last queued byte.
type answerBudget struct {
	older, newer int32
	olderEnd     uint64 // position where older ends
}

// nextGeneration begins a generation at end if the older one has left.
func (a *answerBudget) nextGeneration(sent, end uint64) {
	if sent >= a.olderEnd {
		a.older, a.newer, a.olderEnd = a.newer, 0, end
	}
}

// add counts a queued answer and reports whether there are too many.
func (a *answerBudget) add(sent, end uint64) (over bool) {
	if a.newer++; a.older+a.newer <= answersMax/4 {
		return false
	}
	a.nextGeneration(sent, end)
	return a.older+a.newer > answersMax
}

// few reports that the peer has taken enough of its answers to be read again.
func (a *answerBudget) few(sent, end uint64) bool {
	a.nextGeneration(sent, end)
	return a.older+a.newer <= answersMax/2
}

// A peer may be refused as often as it likes (verdicts.go), and asking costs it less than checking costs us. So a
// connection on which this happens again and again pauses: the driver goes on with it when it thinks fit, and decides
// for all of its connections together.

// A peer may be refused any number of times (verdicts.go), and a request costs it less than the check costs us.
// Therefore a connection with many refusals pauses. The driver continues with it later, and can treat all of its
// connections together.
//
// refusalsAtOnce is how many accesses are refused before a connection pauses.
const refusalsAtOnce = 16

// PauseNanos is how long a driver should wait for each pause of any of its connections: 20,000 refusals per second
// altogether.
const PauseNanos = 800_000

// refusals counts refused accesses since the last pause.
type refusals uint8

// add counts a refusal and reports whether the connection must pause.
func (r *refusals) add() bool {
	*r++
	return *r >= refusalsAtOnce
}
