// Package layer is the base of the providers that need another provider below them, as in "udp;ofi_rxd"
// (fi_provider(7), utility providers): ofi_rxd, ofi_rxm and fault. A layer's Provider embeds Base, and its domain
// embeds DomainOver or RDMDomain. Fabric is used as it is. A layer implements only the parts that differ.
//
// Layers make objects of their own over ports (package datagram) or connections (package stream) of the provider
// below. A hook (util/hook), such as strict mode, differs: it wraps a whole stack and passes the application's
// calls on.
package layer
