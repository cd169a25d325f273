// Package page tests fabricd's page in a browser: headless Chromium (Debian's package chromium) with a fabricd that
// emulates a fabric.
//
// It needs root and Chromium. Without them its tests are skipped, or fail if GOFABRIC_PEERS is "required". With
// GOFABRIC_SCREENSHOTS=FOLDER they save pictures there. Some run with GOFABRIC_MANY=1 only.
package page
