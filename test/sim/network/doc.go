// Package network is the simulated network of all tests. It has an event queue with virtual time, randomness from one
// seed, and datagrams that are lost, repeated, reordered, damaged, delayed, or queued in front of a slow link. It
// imports no engine, so the tests of each engine can use it, as package sim does.
package network
