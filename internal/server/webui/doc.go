// Package webui serves the web page of the scheduler: static files, either the page that is embedded here
// or another build in a directory.
//
// The page only draws what REST has, so this package knows no state. It owns the files, their headers and
// which paths belong to the page; REST answers all others.
//
// The rule that must hold: a file of the page never answers for a path of REST (WEB-2), and nothing outside
// the embedded files or the directory can be read (WEB-4).
package webui
