// Package top makes the table of ofi top: what the endpoints of a node's processes did between two samples of fabricd's counters.
package top
