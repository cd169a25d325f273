// Package scale tests with thousands of peers: what an endpoint uses for each, and whether it releases everything.
package scale
