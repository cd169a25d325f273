package endpoint

import (
	"gofabric/core"
	"gofabric/internal/xnet/engine"
	"gofabric/internal/xnet/wire"
)

// postRMA starts a read or a write (fi_rma(3)).
func (t *Transmitter) postRMA(op *core.Op) error {
	kind, report := engine.KindWrite, rmaWrite
	if op.Call.Op() == core.OpRead {
		kind, report = engine.KindRead, rmaRead
		op.Flags &^= core.OpInject // FI_INJECT is about source buffers, and a read has none
	}
	if err := t.check(op); err != nil {
		return err
	}
	if op.Call == core.CallReadMsg || op.Call == core.CallWriteMsg {
		if err := checkRanges(op); err != nil {
			return err
		}
	}
	s := t.begin(kind, report, op)
	if op.Call == core.CallReadMsg || op.Call == core.CallWriteMsg {
		for i, r := range op.RMAIOV {
			s.RMA[i] = wire.RMAIov(r)
		}
		s.NRMA = len(op.RMAIOV)
	} else {
		s.RMA[0], s.NRMA = wire.RMAIov(op.RMA), 1
	}
	s.HasData, s.Data = kind == engine.KindWrite && op.HasData(), op.Data
	return t.end(s, op.Addr, op.Flags&core.OpMore != 0)
}

// checkRanges refuses remote ranges whose total length differs from that of the buffers.
func checkRanges(op *core.Op) error {
	if len(op.RMAIOV) > engine.MaxIOV || len(op.RMAIOV) == 0 {
		return core.ErrInval
	}
	total := uint64(0)
	for _, r := range op.RMAIOV {
		if total+r.Len < total {
			return core.ErrInval
		}
		total += r.Len
	}
	if total != uint64(op.Len()) {
		return core.ErrInval // local and remote lengths are equal (fi_rma(3))
	}
	return nil
}
