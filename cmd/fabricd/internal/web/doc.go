// Package web serves the daemon's page from files embedded in the program; the page loads nothing from elsewhere. What the page shows and changes goes
// through the API.
package web
