package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// A namedFile is a file that a flag names.
type namedFile struct{ flag, name string }

// refuseSameFile rejects an output that is an input or another output: writing it would destroy the
// other one. Names are compared as files, so that "a.csv", "./a.csv" and links to it are the same.
func refuseSameFile(output namedFile, others ...namedFile) error {
	if output.name == "" {
		return nil
	}
	for _, other := range others {
		if other.name != "" && isSameFile(output.name, other.name) {
			return fmt.Errorf("--%s and --%s name the same file, %s, which would be overwritten", output.flag, other.flag,
				output.name)
		}
	}
	return nil
}

func isSameFile(a, b string) bool {
	first, errA := os.Stat(a)
	second, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(first, second)
	}
	pathA, errA := filepath.Abs(a)
	pathB, errB := filepath.Abs(b)
	return errA == nil && errB == nil && pathA == pathB
}
