package front

import "gofabric/core"

// triggerAlias is an alias of whose direction dir every operation is triggered (fi_trigger(3)). In C its plain calls find the condition in their context; here
// only the msg variants have one, and the plain calls refuse rather than transmit too early. Deferred work can name such an alias as any endpoint.
type triggerAlias struct {
	*alias
	dir core.Flags
}

// refuse is what plain calls of the alias' direction return; dir is the call's.
func (a *triggerAlias) refuse(dir core.Flags) error {
	if a.dir == dir {
		return core.ErrInval
	}
	return nil
}

// Send is fi_send (fi_msg(3)).
func (a *triggerAlias) Send(buf []byte, d core.Desc, dest core.FIAddr, ctx core.Context) error {
	if err := a.refuse(core.Transmit); err != nil {
		return err
	}
	return a.alias.Send(buf, d, dest, ctx)
}

// SendV is fi_sendv (fi_msg(3)).
func (a *triggerAlias) SendV(iov [][]byte, d []core.Desc, dest core.FIAddr, ctx core.Context) error {
	if err := a.refuse(core.Transmit); err != nil {
		return err
	}
	return a.alias.SendV(iov, d, dest, ctx)
}

// SendData is fi_senddata (fi_msg(3)).
func (a *triggerAlias) SendData(buf []byte, d core.Desc, data uint64, dest core.FIAddr, ctx core.Context) error {
	if err := a.refuse(core.Transmit); err != nil {
		return err
	}
	return a.alias.SendData(buf, d, data, dest, ctx)
}

// TSend is fi_tsend (fi_tagged(3)).
func (a *triggerAlias) TSend(buf []byte, d core.Desc, dest core.FIAddr, tag uint64, ctx core.Context) error {
	if err := a.refuse(core.Transmit); err != nil {
		return err
	}
	return a.alias.TSend(buf, d, dest, tag, ctx)
}

// TSendV is fi_tsendv (fi_tagged(3)).
func (a *triggerAlias) TSendV(iov [][]byte, d []core.Desc, dest core.FIAddr, tag uint64, ctx core.Context) error {
	if err := a.refuse(core.Transmit); err != nil {
		return err
	}
	return a.alias.TSendV(iov, d, dest, tag, ctx)
}

// TSendData is fi_tsenddata (fi_tagged(3)).
func (a *triggerAlias) TSendData(buf []byte, d core.Desc, data uint64, dest core.FIAddr, tag uint64, ctx core.Context) error {
	if err := a.refuse(core.Transmit); err != nil {
		return err
	}
	return a.alias.TSendData(buf, d, data, dest, tag, ctx)
}

// Read is fi_read (fi_rma(3)).
func (a *triggerAlias) Read(buf []byte, d core.Desc, src core.FIAddr, addr, key uint64, ctx core.Context) error {
	if err := a.refuse(core.Transmit); err != nil {
		return err
	}
	return a.alias.Read(buf, d, src, addr, key, ctx)
}

// ReadV is fi_readv (fi_rma(3)).
func (a *triggerAlias) ReadV(iov [][]byte, d []core.Desc, src core.FIAddr, addr, key uint64, ctx core.Context) error {
	if err := a.refuse(core.Transmit); err != nil {
		return err
	}
	return a.alias.ReadV(iov, d, src, addr, key, ctx)
}

// Write is fi_write (fi_rma(3)).
func (a *triggerAlias) Write(buf []byte, d core.Desc, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	if err := a.refuse(core.Transmit); err != nil {
		return err
	}
	return a.alias.Write(buf, d, dest, addr, key, ctx)
}

// WriteV is fi_writev (fi_rma(3)).
func (a *triggerAlias) WriteV(iov [][]byte, d []core.Desc, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	if err := a.refuse(core.Transmit); err != nil {
		return err
	}
	return a.alias.WriteV(iov, d, dest, addr, key, ctx)
}

// WriteData is fi_writedata (fi_rma(3)).
func (a *triggerAlias) WriteData(buf []byte, d core.Desc, data uint64, dest core.FIAddr, addr, key uint64, ctx core.Context) error {
	if err := a.refuse(core.Transmit); err != nil {
		return err
	}
	return a.alias.WriteData(buf, d, data, dest, addr, key, ctx)
}

// Recv is fi_recv (fi_msg(3)).
func (a *triggerAlias) Recv(buf []byte, d core.Desc, src core.FIAddr, ctx core.Context) error {
	if err := a.refuse(core.Recv); err != nil {
		return err
	}
	return a.alias.Recv(buf, d, src, ctx)
}

// RecvV is fi_recvv (fi_msg(3)).
func (a *triggerAlias) RecvV(iov [][]byte, d []core.Desc, src core.FIAddr, ctx core.Context) error {
	if err := a.refuse(core.Recv); err != nil {
		return err
	}
	return a.alias.RecvV(iov, d, src, ctx)
}

// TRecv is fi_trecv (fi_tagged(3)).
func (a *triggerAlias) TRecv(buf []byte, d core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	if err := a.refuse(core.Recv); err != nil {
		return err
	}
	return a.alias.TRecv(buf, d, src, tag, ignore, ctx)
}

// TRecvV is fi_trecvv (fi_tagged(3)).
func (a *triggerAlias) TRecvV(iov [][]byte, d []core.Desc, src core.FIAddr, tag, ignore uint64, ctx core.Context) error {
	if err := a.refuse(core.Recv); err != nil {
		return err
	}
	return a.alias.TRecvV(iov, d, src, tag, ignore, ctx)
}
