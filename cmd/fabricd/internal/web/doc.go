// Package web serves the daemon's page: files in the program, with nothing from elsewhere. What the page shows and changes goes through the API.
package web
