// Package top computes the table of ofi top: the activity of the endpoints of a node's processes between two
// samples of fabricd's counters.
package top
