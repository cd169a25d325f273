package engine

// answersMax is how many acknowledgements and clearances may wait for a peer that does not read them before it is not
// read either. It is far more than an honest peer has under way, because two ends that both stop reading would wait for
// each other.
const answersMax = 1 << 16

// answerBudget bounds from above how many answers wait for transmission. They share staging memory with messages, so
// they are counted in two generations, of which the older is forgotten when the stream has passed its end. Positions in
// the stream are given: sent is the number of bytes that have left, end is behind the last byte that is queued.
type answerBudget struct {
	older, newer int32
	olderEnd     uint64 // where older ends
}

// turn begins a generation at end, if the older one has left.
func (a *answerBudget) turn(sent, end uint64) {
	if sent >= a.olderEnd {
		a.older, a.newer, a.olderEnd = a.newer, 0, end
	}
}

// add counts an answer that was queued, and reports whether there are too many.
func (a *answerBudget) add(sent, end uint64) (over bool) {
	if a.newer++; a.older+a.newer <= answersMax/4 {
		return false
	}
	a.turn(sent, end)
	return a.older+a.newer > answersMax
}

// few reports that the peer has read enough of its answers to be read again.
func (a *answerBudget) few(sent, end uint64) bool {
	a.turn(sent, end)
	return a.older+a.newer <= answersMax/2
}

// A peer may be refused as often as it likes (verdicts.go), and asking costs it less than checking costs us. So a
// connection on which this happens again and again pauses: the driver goes on with it when it thinks fit, and decides
// for all of its connections together.

// refusalsAtOnce is how many accesses are refused before a connection pauses.
const refusalsAtOnce = 16

// PauseNanos is how long a driver should wait for each pause, of any of its connections: 20,000 refusals a second in
// all.
const PauseNanos = 800_000

// refusals counts accesses that were refused since the last pause.
type refusals uint8

// add counts a refusal, and reports whether it is time for a pause.
func (r *refusals) add() bool {
	*r++
	return *r >= refusalsAtOnce
}
