// Package report has the results of a benchmark: what was measured of each cell, the estimates with their intervals,
// the comparison of two reports, and both as text, JSON and a page.
//
// It runs nothing: package bench fills a Report, and each cell names its workload by a workload.Spec. The rule: a
// figure is shown with its interval or its spread, and a difference is one only if the test of the comparison says so.
package report
