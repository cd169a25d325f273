package oblige

import (
	"context"

	"gofabric/core"
)

// queue is a completion queue whose entries have the application's contexts and lengths.
type queue struct {
	core.CompletionQueue
	d *domain
}

func (q *queue) inner() core.Object { return q.CompletionQueue }
func (q *queue) Close() error       { return q.d.f.close(q.CompletionQueue) }

// entry makes e what the application expects.
func (q *queue) entry(e *core.CQEntry, failed bool) {
	p := q.d.find(e.Ctx)
	if p == nil {
		return
	}
	e.Ctx = p.ctx
	if p.flags&(core.Peek|core.Claim) == core.Peek|core.Claim && !failed {
		q.d.mu.Lock()
		q.d.claims[claim{p.of, p.ctx}] = p.below
		q.d.mu.Unlock()
	}
	if p.prefix > 0 && p.rx && e.Len >= p.prefix {
		e.Len -= p.prefix
		from := p.bounce[p.prefix:]
		for _, b := range p.user {
			from = from[copy(b, from):]
		}
		if e.Buf = nil; len(p.user) > 0 {
			e.Buf = p.user[0]
		}
	}
	if !p.multi || e.Flags&core.MultiRecv != 0 || failed {
		q.d.end(p)
	}
}

func (q *queue) entries(list []core.CQEntry, n int, err error) (int, error) {
	for i := range max(n, 0) {
		q.entry(&list[i], false)
	}
	return n, err
}

func (q *queue) Read(list []core.CQEntry) (int, error) {
	n, err := q.CompletionQueue.Read(list)
	return q.entries(list, n, err)
}

func (q *queue) ReadFrom(list []core.CQEntry, src []core.FIAddr) (int, error) {
	n, err := q.CompletionQueue.ReadFrom(list, src)
	return q.entries(list, n, missing("fi_cq_readfrom", err))
}

func (q *queue) SRead(ctx context.Context, list []core.CQEntry) (int, error) {
	n, err := q.CompletionQueue.SRead(ctx, list)
	return q.entries(list, n, err)
}

func (q *queue) SReadFrom(ctx context.Context, list []core.CQEntry, src []core.FIAddr) (int, error) {
	n, err := q.CompletionQueue.SReadFrom(ctx, list, src)
	return q.entries(list, n, missing("fi_cq_sreadfrom", err))
}

func (q *queue) ReadErr(e *core.CQErrEntry) error {
	err := q.CompletionQueue.ReadErr(e)
	if err == nil {
		q.entry(&e.CQEntry, true)
	}
	return err
}
