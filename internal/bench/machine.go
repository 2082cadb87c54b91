package bench

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Files of Linux that say what there is. Where they are missing it is not known.
const (
	cpuFile    = "/proc/cpuinfo"
	loadFile   = "/proc/loadavg"
	memoryFile = "/proc/meminfo"
)

// cpuModel is the name of the CPU; empty: not known.
func cpuModel() string { return fieldOf(cpuFile, "model name") }

// fieldOf reads the first line "name : value" of a file.
func fieldOf(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// loadAverage is that of the last minute; -1: not known.
func loadAverage() float64 {
	text, err := os.ReadFile(loadFile)
	if err != nil {
		return -1
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return -1
	}
	return load
}

// memoryAvailable is in bytes; 0: not known.
func memoryAvailable() int64 {
	number, _, _ := strings.Cut(fieldOf(memoryFile, "MemAvailable"), " ")
	kibibytes, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return kibibytes << 10
}
