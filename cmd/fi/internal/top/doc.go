// Package top makes the table of fi top: what the endpoints of a node's processes did between two looks at fabricd's figures.
package top
