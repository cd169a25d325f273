package tcp

import (
	"gofabric/core"
	"gofabric/provider/tcp/engine"
)

// getSizeOpt answers the options that all endpoints have. Locked.
func getSizeOpt(e *endpoint, rx *engine.RxContext, opt core.EPOpt) (int, error) {
	switch opt {
	case core.OptMinMultiRecv:
		return rx.MinMulti, nil
	case core.OptMaxMsgSize, core.OptMaxTaggedSize, core.OptMaxRMASize:
		return e.info.EP.MaxMsgSize, nil
	case core.OptInjectMsgSize, core.OptInjectTaggedSize, core.OptInjectRMASize:
		return e.info.Tx.InjectSize, nil
	case core.OptTxSize:
		return e.info.Tx.Size, nil
	case core.OptRxSize:
		return rx.Depth, nil
	case core.OptFirewallAddr:
		if e.d.s.firewall {
			return 1, nil
		}
		return 0, nil
	}
	return 0, core.ErrNoProtoOpt
}

// setRxOpt sets what can be set. Locked.
func setRxOpt(e *endpoint, rx *engine.RxContext, opt core.EPOpt, value int) error {
	if opt != core.OptMinMultiRecv {
		return core.ErrNoProtoOpt
	}
	if value < 0 {
		return opError("fi_setopt", e.name(), noPeer, core.ErrInval, "a size is not negative")
	}
	rx.MinMulti = value
	return nil
}
