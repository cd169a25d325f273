package dgep

import "gofabric/core"

// noTagged and noRMA are the calls that datagrams do not have: all fail with core.ErrNoSys.
type (
	noTagged struct{}
	noRMA    struct{}
)

var (
	_ core.Tagged = noTagged{}
	_ core.RMA    = noRMA{}
)

func (noTagged) TRecv([]byte, core.Desc, core.FIAddr, uint64, uint64, core.Context) error {
	return core.ErrNoSys
}
func (noTagged) TRecvV([][]byte, []core.Desc, core.FIAddr, uint64, uint64, core.Context) error {
	return core.ErrNoSys
}
func (noTagged) TRecvMsg(*core.TaggedArgs, core.Flags) error { return core.ErrNoSys }
func (noTagged) TSend([]byte, core.Desc, core.FIAddr, uint64, core.Context) error {
	return core.ErrNoSys
}
func (noTagged) TSendV([][]byte, []core.Desc, core.FIAddr, uint64, core.Context) error {
	return core.ErrNoSys
}
func (noTagged) TSendMsg(*core.TaggedArgs, core.Flags) error { return core.ErrNoSys }
func (noTagged) TSendData([]byte, core.Desc, uint64, core.FIAddr, uint64, core.Context) error {
	return core.ErrNoSys
}
func (noTagged) TInject([]byte, core.FIAddr, uint64) error             { return core.ErrNoSys }
func (noTagged) TInjectData([]byte, uint64, core.FIAddr, uint64) error { return core.ErrNoSys }

func (noRMA) Read([]byte, core.Desc, core.FIAddr, uint64, uint64, core.Context) error {
	return core.ErrNoSys
}
func (noRMA) ReadV([][]byte, []core.Desc, core.FIAddr, uint64, uint64, core.Context) error {
	return core.ErrNoSys
}
func (noRMA) ReadMsg(*core.RMAArgs, core.Flags) error { return core.ErrNoSys }
func (noRMA) Write([]byte, core.Desc, core.FIAddr, uint64, uint64, core.Context) error {
	return core.ErrNoSys
}
func (noRMA) WriteV([][]byte, []core.Desc, core.FIAddr, uint64, uint64, core.Context) error {
	return core.ErrNoSys
}
func (noRMA) WriteMsg(*core.RMAArgs, core.Flags) error { return core.ErrNoSys }
func (noRMA) WriteData([]byte, core.Desc, uint64, core.FIAddr, uint64, uint64, core.Context) error {
	return core.ErrNoSys
}
func (noRMA) InjectWrite([]byte, core.FIAddr, uint64, uint64) error { return core.ErrNoSys }
func (noRMA) InjectWriteData([]byte, uint64, core.FIAddr, uint64, uint64) error {
	return core.ErrNoSys
}
