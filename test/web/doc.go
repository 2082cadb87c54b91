// Package web tests the page of the scheduler in a browser: Debian's chromium, without a window, that is driven over
// its debugging protocol. It is a module of its own, so that the scheduler does not depend on what drives a browser.
// `make test-web` runs it.
package web
