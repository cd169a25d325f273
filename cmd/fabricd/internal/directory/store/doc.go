// Package store says what a directory keeps, and what every keeper of one can do: a node by itself (package local), or an etcd cluster (package cluster).
package store
