// Package scale holds tests with very many peers: what an endpoint costs for each, and that it gives everything back.
package scale
