package core

import (
	"fmt"
	"math"
	"strings"
)

// This file prints Info and its attributes as fi_tostr(3) does, field for field, so that scripts that read the
// output of fi_info -v work. There are two differences in the structures: unlimited sizes print as SIZE_MAX,
// although Go's int ends at half of it, and fields for accelerators, which gofabric does not support, print as
// empty.

// infoWriter writes indented "name: value" lines.
type infoWriter struct {
	strings.Builder
	indent string
}

func (w *infoWriter) line(format string, args ...any) {
	w.WriteString(w.indent)
	fmt.Fprintf(&w.Builder, format, args...)
	w.WriteByte('\n')
}

func (w *infoWriter) set(name, names string)     { w.line("%s: [ %s ]", name, names) }
func (w *infoWriter) size(name string, v int)    { w.line("%s: %d", name, cSize(v)) }
func (w *infoWriter) hex(name string, v uint64)  { w.line("%s: 0x%x", name, v) }
func (w *infoWriter) text(name string, v string) { w.line("%s: %s", name, v) }

// cSize returns a size as C has it: the largest int stands for SIZE_MAX.
func cSize(v int) uint64 {
	if v == MaxSize {
		return math.MaxUint64
	}
	return uint64(v)
}

func (w *infoWriter) ctxCount(name string, v int) {
	if v == SharedContext {
		w.text(name, "FI_SHARED_CONTEXT")
		return
	}
	w.size(name, v)
}

// object prints an open object. native prints its address; only whether there is one means something to a reader.
func (w *infoWriter) object(name string, present bool) {
	if present {
		w.text(name, "(open)")
		return
	}
	w.text(name, "(nil)")
}

// section writes "title:" and its fields indented, or "title: (null)".
func (w *infoWriter) section(title string, present bool, fields func()) {
	if !present {
		w.line("%s: (null)", title)
		return
	}
	w.line("%s:", title)
	old := w.indent
	w.indent += "    "
	fields()
	w.indent = old
}

// nullable is %s of a C string: an empty string is a null pointer here.
func nullable(s string) string {
	if s == "" {
		return "(null)"
	}
	return s
}

// String returns the text that fi_info -v prints for i (fi_tostr(3), FI_TYPE_INFO). It ends in a newline.
func (i *Info) String() string {
	w := &infoWriter{}
	w.section("fi_info", i != nil, func() {
		w.set("caps", i.Caps.String())
		w.set("mode", i.Mode.String())
		w.text("addr_format", i.AddrFormat.String())
		w.size("src_addrlen", i.SrcAddr.cLen())
		w.size("dest_addrlen", i.DestAddr.cLen())
		w.text("src_addr", i.SrcAddr.cString())
		w.text("dest_addr", i.DestAddr.cString())
		w.object("handle", i.Handle != nil)
		i.Tx.write(w)
		i.Rx.write(w)
		i.EP.write(w)
		i.Domain.write(w)
		i.Fabric.write(w)
		i.NIC.write(w)
	})
	return w.Builder.String()
}

func (a *TxAttr) write(w *infoWriter) {
	w.section("fi_tx_attr", a != nil, func() {
		w.set("caps", a.Caps.String())
		w.set("mode", a.Mode.String())
		w.set("op_flags", a.OpFlags.String())
		w.set("msg_order", a.MsgOrder.String())
		w.size("inject_size", a.InjectSize)
		w.size("size", a.Size)
		w.size("iov_limit", a.IOVLimit)
		w.size("rma_iov_limit", a.RMAIOVLimit)
		w.hex("tclass", uint64(a.TClass))
	})
}

func (a *RxAttr) write(w *infoWriter) {
	w.section("fi_rx_attr", a != nil, func() {
		w.set("caps", a.Caps.String())
		w.set("mode", a.Mode.String())
		w.set("op_flags", a.OpFlags.String())
		w.set("msg_order", a.MsgOrder.String())
		w.size("size", a.Size)
		w.size("iov_limit", a.IOVLimit)
	})
}

func (a *EPAttr) write(w *infoWriter) {
	w.section("fi_ep_attr", a != nil, func() {
		w.text("type", a.Type.String())
		w.text("protocol", a.Protocol.String())
		w.line("protocol_version: %d", a.ProtocolVersion)
		w.size("max_msg_size", a.MaxMsgSize)
		w.size("msg_prefix_size", a.MsgPrefixSize)
		w.size("max_order_raw_size", a.MaxOrderRAWSize)
		w.size("max_order_war_size", a.MaxOrderWARSize)
		w.size("max_order_waw_size", a.MaxOrderWAWSize)
		w.line("mem_tag_format: 0x%016x", a.MemTagFormat)
		w.ctxCount("tx_ctx_cnt", a.TxCtxCnt)
		w.ctxCount("rx_ctx_cnt", a.RxCtxCnt)
		w.size("auth_key_size", len(a.AuthKey))
		w.text("xpu_ctx", "(nil)")
	})
}

// keySize returns the length of the default key, 0 without one, or the value that means that keys are in the
// vectors.
func (a *DomainAttr) keySize() int {
	if a.AuthKeySize == AVAuthKey {
		return AVAuthKey
	}
	return len(a.AuthKey)
}

func (a *DomainAttr) write(w *infoWriter) {
	w.section("fi_domain_attr", a != nil, func() {
		w.object("domain", a.Domain != nil)
		w.text("name", nullable(a.Name))
		w.text("threading", a.Threading.String())
		w.text("progress", a.DataProgress.String())
		w.text("resource_mgmt", a.ResourceMgmt.String())
		w.text("av_type", a.AVType.String())
		w.set("mr_mode", a.MRMode.String())
		w.size("mr_key_size", a.MRKeySize)
		w.size("cq_data_size", a.CQDataSize)
		w.size("cq_cnt", a.CQCnt)
		w.size("ep_cnt", a.EPCnt)
		w.size("tx_ctx_cnt", a.TxCtxCnt)
		w.size("rx_ctx_cnt", a.RxCtxCnt)
		w.size("max_ep_tx_ctx", a.MaxEPTxCtx)
		w.size("max_ep_rx_ctx", a.MaxEPRxCtx)
		w.size("max_ep_stx_ctx", a.MaxEPStxCtx)
		w.size("max_ep_srx_ctx", a.MaxEPSrxCtx)
		w.size("cntr_cnt", a.CntrCnt)
		w.size("mr_iov_limit", a.MRIOVLimit)
		w.set("caps", a.Caps.String())
		w.set("mode", a.Mode.String())
		w.size("auth_key_size", a.keySize())
		w.size("max_err_data", a.MaxErrData)
		w.size("mr_cnt", a.MRCnt)
		w.hex("tclass", uint64(a.TClass))
		w.size("max_ep_auth_key", a.MaxEPAuthKey)
		w.line("max_group_id: %d", a.MaxGroupID)
		w.line("max_cntr_value: %d", a.MaxCntrValue)
		w.line("max_err_cntr_value: %d", a.MaxErrCntrValue)
		w.size("max_xpu_ctx_cnt", 0)
	})
}

func (a *FabricAttr) write(w *infoWriter) {
	w.section("fi_fabric_attr", a != nil, func() {
		w.text("name", nullable(a.Name))
		w.text("prov_name", nullable(a.ProvName))
		w.text("prov_version", a.ProvVersion.String())
		w.text("api_version", a.APIVersion.String())
	})
}

func (n *NIC) write(w *infoWriter) {
	if n == nil {
		w.text("nic", "(nil)")
		return
	}
	w.section("nic", true, func() {
		w.section("fi_device_attr", true, func() {
			d := &n.Device
			w.text("name", nullable(d.Name))
			w.text("device_id", nullable(d.DeviceID))
			w.text("device_version", nullable(d.DeviceVersion))
			w.text("vendor_id", nullable(d.VendorID))
			w.text("driver", nullable(d.Driver))
			w.text("firmware", nullable(d.Firmware))
		})
		w.section("fi_bus_attr", true, func() {
			if !n.Bus.IsPCI {
				w.text("bus_type", "FI_BUS_UNKNOWN")
				return
			}
			w.text("bus_type", "FI_BUS_PCI")
			w.section("fi_pci_attr", true, func() {
				w.line("domain_id: %d", n.Bus.PCIDomain)
				w.line("bus_id: %d", n.Bus.PCIBus)
				w.line("device_id: %d", n.Bus.PCIDevice)
				w.line("function_id: %d", n.Bus.PCIFunc)
			})
		})
		w.section("fi_link_attr", true, func() {
			l := &n.Link
			w.text("address", nullable(l.Address))
			w.size("mtu", l.MTU)
			w.line("speed: %d", l.Speed)
			w.text("state", l.State.String())
			w.text("network_type", nullable(l.NetworkType))
		})
	})
}

var linkStateNames = []flagName{
	{uint64(LinkUnknown), "FI_LINK_UNKNOWN"}, {uint64(LinkDown), "FI_LINK_DOWN"}, {uint64(LinkUp), "FI_LINK_UP"},
}

func (s LinkState) String() string { return enumString(s, linkStateNames) }

// attrText returns the text of one attribute structure, as fi_tostr(3) prints its type.
func attrText(write func(*infoWriter)) string {
	w := &infoWriter{}
	write(w)
	return w.Builder.String()
}

func (a *TxAttr) String() string     { return attrText(a.write) }
func (a *RxAttr) String() string     { return attrText(a.write) }
func (a *EPAttr) String() string     { return attrText(a.write) }
func (a *DomainAttr) String() string { return attrText(a.write) }
func (a *FabricAttr) String() string { return attrText(a.write) }
