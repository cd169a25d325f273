// Package layer is the base of the providers that stand on another one in a provider string, as in "udp;ofi_rxd" (fi_provider(7), utility providers): ofi_rxd,
// ofi_rxm and fault. Base is in a layer's Provider, DomainOver or RDMDomain in its domain; Fabric serves as it is. A layer carries only what it changes.
//
// Layers make objects of their own, on what the provider below offers to layers: ports (package datagram) or links (package stream). What stands above a whole
// stack and passes the application's calls on, as strict mode does, is a hook (util/hook).
package layer
