package endpoint

import (
	"gofabric/core"
	"gofabric/internal/batch"
	"gofabric/internal/xnet/engine"
)

// lastRoute is the fast path for small messages that follow one another to one destination. It holds the connection
// of the last message and the stream that the next one can join.
type lastRoute struct {
	c     *engine.Conn
	batch *batch.Stream // in which c's messages wait; nil if none may join them
	dest  core.FIAddr
	gen   uint32 // Endpoint.avGeneration when dest was looked up
}

// joinOK are the default operation flags that have no effect on a message that is copied when it is posted.
const joinOK = core.OpCompletion | core.OpInject | core.OpInjectComplete | core.OpMore

// join appends buf to the batch of the last message. It returns false if that message went elsewhere or has left,
// or if buf does not fit (engine.Conn.Join). Locked.
func (t *Transmitter) join(buf []byte, dest core.FIAddr, tagged bool, tag uint64) bool {
	l := &t.lastRoute
	if l.batch == nil || l.dest != dest || l.gen != t.e.avGeneration || !l.batch.Admits(t.e.prog.Batch(), l.c.Staged()) || !l.c.Join(buf, tagged, tag) {
		return false
	}
	l.batch.Joined()
	return true
}

// joinSend is join for the plain calls. It reports the completion.
func (t *Transmitter) joinSend(buf []byte, dest core.FIAddr, tagged bool, tag uint64, ctx core.OpContext, report core.CompFlags) bool {
	e := t.e
	flags := e.txFlags
	if t.own {
		flags = t.flags
	}
	if flags&^joinOK != 0 || !t.join(buf, dest, tagged, tag) {
		return false
	}
	e.did.kinds[engine.KindSend].count(uint64(len(buf)))
	if cn := e.cntr[cntrTx]; cn != nil {
		cn.Complete(len(buf))
	}
	if e.txCQ == nil || e.txQuiet && flags&core.OpCompletion == 0 {
		return true
	}
	fillSent(e.txCQ.Queue, ctx, report)
	return true
}

// joinInject is join for the inject calls. It counts the message but writes no queue entry (fi_msg(3), fi_inject).
func (t *Transmitter) joinInject(buf []byte, dest core.FIAddr, tagged bool, tag uint64) bool {
	if !t.join(buf, dest, tagged, tag) {
		return false
	}
	t.e.did.kinds[engine.KindSend].count(uint64(len(buf)))
	if cn := t.e.cntr[cntrTx]; cn != nil {
		cn.Complete(len(buf))
	}
	return true
}
