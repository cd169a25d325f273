package comply

import (
	"context"

	"gofabric/core"
	"gofabric/util/hook"
)

// queue is a completion queue whose entries have the application's contexts and lengths.
type queue struct {
	hook.CQ
	*held
	d *domain
}

// entry changes e to what the application expects.
func (q *queue) entry(e *core.CQEntry, failed bool) {
	p := q.d.find(e.Ctx)
	if p == nil {
		return
	}
	e.Ctx = p.ctx
	if p.Flags&(core.OpPeek|core.OpClaim) == core.OpPeek|core.OpClaim && !failed {
		q.d.mu.Lock()
		q.d.claims[claim{p.of, p.ctx}] = p.Ctx
		q.d.mu.Unlock()
	}
	if p.prefix > 0 && p.Call.Receives() && e.Len >= p.prefix {
		e.Len -= p.prefix
		from := p.bounce[p.prefix:]
		for _, b := range p.user {
			from = from[copy(b, from):]
		}
		if e.Buf = nil; len(p.user) > 0 {
			e.Buf = p.user[0]
		}
	}
	if !p.multi || e.Flags&core.CompMultiRecv != 0 || failed {
		q.d.end(p)
	}
}

// entries changes the entries of a read to what the application expects. name is the call of reads with sources.
func (q *queue) entries(name string, list []core.CQEntry, src []core.FIAddr, n int, err error) (int, error) {
	for i := range max(n, 0) {
		q.entry(&list[i], false)
	}
	if src != nil {
		err = missing(name, err)
	}
	return n, err
}

func (q *queue) Read(list []core.CQEntry, src []core.FIAddr) (int, error) {
	n, err := q.CQ.Read(list, src)
	return q.entries("fi_cq_readfrom", list, src, n, err)
}

func (q *queue) SRead(ctx context.Context, list []core.CQEntry, src []core.FIAddr) (int, error) {
	n, err := q.CQ.SRead(ctx, list, src)
	return q.entries("fi_cq_sreadfrom", list, src, n, err)
}

func (q *queue) ReadErr(e *core.CQErrEntry) error {
	err := q.CQ.ReadErr(e)
	if err == nil {
		q.entry(&e.CQEntry, true)
	}
	return err
}
