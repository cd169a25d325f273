package main

import (
	"strings"

	"gofabric/core"
)

// jsonInfo is one result of ofi info --json: the fields of the short output, and with -v the others, with native's
// field names.
type jsonInfo struct {
	Provider   string    `json:"provider"`
	Fabric     string    `json:"fabric,omitempty"`
	Domain     string    `json:"domain,omitempty"`
	Version    string    `json:"version"`
	Type       string    `json:"type,omitempty"`
	Protocol   string    `json:"protocol,omitempty"`
	AddrFormat string    `json:"addr_format,omitempty"`
	SrcAddr    string    `json:"src_addr,omitempty"`
	DestAddr   string    `json:"dest_addr,omitempty"`
	Caps       []string  `json:"caps,omitempty"`
	Mode       []string  `json:"mode,omitempty"`
	Full       *jsonFull `json:"full,omitempty"`
}

type jsonFull struct {
	Tx     *core.TxAttr     `json:"fi_tx_attr"`
	Rx     *core.RxAttr     `json:"fi_rx_attr"`
	EP     *core.EPAttr     `json:"fi_ep_attr"`
	Domain *core.DomainAttr `json:"fi_domain_attr"`
}

type jsonRefusal struct {
	Provider  string `json:"provider"`
	Interface string `json:"interface,omitempty"`
	Type      string `json:"type,omitempty"`
	Reason    string `json:"reason"`
}

type jsonRemark struct {
	Provider  string `json:"provider"`
	Interface string `json:"interface,omitempty"`
	Type      string `json:"type,omitempty"`
	Text      string `json:"text"`
}

type jsonReport struct {
	Infos   []jsonInfo    `json:"infos"`
	Taken   []jsonRemark  `json:"taken,omitempty"`
	Refused []jsonRefusal `json:"refused,omitempty"`
}

func names(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ", ")
}

func infoReport(found []*core.Info, refused []core.Refusal, taken []core.Remark, o *infoOptions) jsonReport {
	r := jsonReport{Infos: []jsonInfo{}}
	for _, i := range found {
		j := jsonInfo{Provider: i.Fabric.ProvName, Version: i.Fabric.ProvVersion.String()}
		if !o.list {
			j.Fabric, j.Domain = i.Fabric.Name, i.Domain.Name
			j.Type, j.Protocol, j.AddrFormat = i.EP.Type.String(), i.EP.Protocol.String(), i.AddrFormat.String()
			j.SrcAddr, j.DestAddr = i.SrcAddr.String(), i.DestAddr.String()
			j.Caps, j.Mode = names(i.Caps.String()), names(i.Mode.String())
		}
		if o.verbose && !o.list {
			j.Full = &jsonFull{Tx: i.Tx, Rx: i.Rx, EP: i.EP, Domain: i.Domain}
		}
		r.Infos = append(r.Infos, j)
	}
	if o.why {
		for _, x := range taken {
			r.Taken = append(r.Taken, jsonRemark{Provider: x.Provider, Interface: x.Interface, Type: typeName(x.EPType), Text: x.Text})
		}
		for _, x := range refused {
			r.Refused = append(r.Refused, jsonRefusal{Provider: x.Provider, Interface: x.Interface, Type: typeName(x.EPType), Reason: x.Reason})
		}
	}
	return r
}

// typeName returns the name of a kind of endpoint, "" for an unspecified kind.
func typeName(t core.EPType) string {
	if t == core.EPTypeUnspec {
		return ""
	}
	return t.String()
}
