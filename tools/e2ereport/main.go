// Command e2ereport compares what the end-to-end suites of the shim said about Canopy with what they said about the
// original.
//
// It owns the tables of kubernetes/cluster/e2e.sh: it reads the reports that Ginkgo wrote, FOLDER/CORE/SUITE.json,
// prints a table, writes report.md and report.json into FOLDER, and fails when Canopy fails a spec that the original
// passes.
//
// Invariant: a spec without a result, because its suite was ended or could not start, counts as failed.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	folder := flag.String("results", "", "the folder with the reports, CORE/SUITE.json")
	known := flag.String("known", "", "the file of the specs that the original fails too")
	cores := flag.String("cores", "original,canopy", "the cores that ran, with commas between them")
	flag.Parse()
	if *folder == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: e2ereport -results FOLDER [-known FILE] [-cores original,canopy] SUITE...")
		os.Exit(2)
	}
	worse, err := report(*folder, *known, strings.Split(*cores, ","), flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2ereport:", err)
		os.Exit(2)
	}
	if worse {
		os.Exit(1)
	}
}

// report writes the tables. The result is whether Canopy fails a spec that the original passes.
func report(folder, known string, cores, suites []string) (bool, error) {
	allowed, err := readKnown(known)
	if err != nil {
		return false, err
	}
	var results []suiteResult
	for _, suite := range suites {
		for _, core := range cores {
			r, err := readSuite(folder, core, suite)
			if err != nil {
				return false, err
			}
			results = append(results, r)
		}
	}
	found := compare(results, allowed)
	text := markdown(cores, suites, results, found)
	fmt.Print(text)
	if err := os.WriteFile(filepath.Join(folder, "report.md"), []byte(text), 0o644); err != nil {
		return false, err
	}
	data, err := json.MarshalIndent(struct {
		Suites   []suiteResult
		Findings []finding
	}{results, found}, "", "  ")
	if err != nil {
		return false, err
	}
	err = os.WriteFile(filepath.Join(folder, "report.json"), append(data, '\n'), 0o644)
	for _, f := range found {
		if f.Worse {
			return true, err
		}
	}
	return false, err
}
