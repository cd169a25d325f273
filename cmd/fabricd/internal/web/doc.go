// Package web serves the daemon's page from files embedded in the program. The page loads nothing from other hosts.
// It reads and changes everything through the API.
package web
