package endpoint

import (
	"time"

	"gofabric/core"
	"gofabric/internal/xnet/engine"
)

// Option returns the options that all endpoints have (fi_getopt(3)), and ErrNoProtoOpt for others. rx is the
// receive context in use. Locked.
func (e *Endpoint) Option(rx *engine.RxContext, opt core.EPOpt) (int, error) {
	switch opt {
	case core.OptMinMultiRecv:
		return rx.MinMulti, nil
	case core.OptMaxMsgSize, core.OptMaxTaggedSize, core.OptMaxRMASize:
		return e.info.EP.MaxMsgSize, nil
	case core.OptMaxAtomicSize:
		return engine.MaxAtomic, nil
	case core.OptInjectMsgSize, core.OptInjectTaggedSize, core.OptInjectRMASize, core.OptInjectAtomicSize:
		return e.info.Tx.InjectSize, nil
	case core.OptTxSize:
		return e.info.Tx.Size, nil
	case core.OptRxSize:
		return rx.Depth, nil
	case core.OptLinger:
		return int(e.linger / time.Millisecond), nil
	}
	return 0, core.ErrNoProtoOpt
}

// SetOption sets the options that can be changed (fi_setopt(3)). Locked.
func (e *Endpoint) SetOption(rx *engine.RxContext, opt core.EPOpt, value int) error {
	if opt != core.OptMinMultiRecv && opt != core.OptLinger {
		return core.ErrNoProtoOpt
	}
	if value < 0 {
		return e.Refuse("fi_setopt", NoPeer, core.ErrInval, "the value must not be negative")
	}
	if opt == core.OptLinger {
		e.linger = time.Duration(value) * time.Millisecond
	} else {
		rx.MinMulti = value
	}
	return nil
}

// OpFlags is FI_GETOPSFLAG (fi_endpoint(3)).
func (e *Endpoint) OpFlags(dir core.BindFlags) (core.OpFlags, error) {
	e.prog.Lock()
	defer e.prog.Unlock()
	switch dir {
	case core.BindTransmit:
		return e.txFlags, nil
	case core.BindRecv:
		return e.rxFlags, nil
	}
	return 0, e.Refuse("fi_control", NoPeer, core.ErrInval, "pass BindTransmit or BindRecv")
}

// SetOpFlags is FI_SETOPSFLAG. dir is BindTransmit or BindRecv. flags are the default flags of the plain calls of
// that direction.
func (e *Endpoint) SetOpFlags(dir core.BindFlags, flags core.OpFlags) error {
	if err := e.checkOpFlags(dir, flags); err != nil {
		return err
	}
	e.prog.Lock()
	defer e.prog.Unlock()
	if dir == core.BindTransmit {
		e.txFlags = flags
	} else {
		e.rxFlags = flags
	}
	return nil
}

// checkOpFlags refuses flags that plain calls of a direction cannot have. Not locked.
func (e *Endpoint) checkOpFlags(dir core.BindFlags, flags core.OpFlags) error {
	switch {
	case dir == core.BindTransmit && flags&^TxOpFlags != 0:
		return e.Refuse("fi_control", NoPeer, core.ErrBadFlags, "not a flag of transmits: "+(flags&^TxOpFlags).String())
	case dir == core.BindRecv && flags&^RxOpFlags != 0:
		return e.Refuse("fi_control", NoPeer, core.ErrBadFlags, "not a flag of receives: "+(flags&^RxOpFlags).String())
	case dir != core.BindTransmit && dir != core.BindRecv:
		return e.Refuse("fi_control", NoPeer, core.ErrInval, "pass BindTransmit or BindRecv")
	}
	return nil
}

// SizeLeft is fi_tx_size_left and fi_rx_size_left (fi_endpoint(3)). libfabric's tcp and udp do not offer it either.
func (e *Endpoint) SizeLeft(core.BindFlags) (int, error) { return 0, core.ErrNoSys }
