package measure

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Linux files. Without them the values are unknown.
const (
	cpuFile    = "/proc/cpuinfo"
	loadFile   = "/proc/loadavg"
	memoryFile = "/proc/meminfo"
	timesFile  = "/proc/stat"
)

// CPUModel returns the name of the CPU; empty: unknown.
func CPUModel() string { return fieldOf(cpuFile, "model name") }

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

// LoadAverage returns the load average of the last minute; -1: unknown.
func LoadAverage() float64 {
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

// MemoryAvailable returns the available memory in bytes; 0: unknown.
func MemoryAvailable() int64 {
	number, _, _ := strings.Cut(fieldOf(memoryFile, "MemAvailable"), " ")
	kibibytes, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return kibibytes << 10
}

// ProcessorTimes are ticks since the start of the machine. The zero value: unknown.
type ProcessorTimes struct{ all, stolen uint64 }

// ReadProcessorTimes returns the times until now.
func ReadProcessorTimes() ProcessorTimes {
	text, err := os.ReadFile(timesFile)
	if err != nil {
		return ProcessorTimes{}
	}
	return parseProcessorTimes(string(text))
}

// parseProcessorTimes reads the first line of timesFile: user, nice, system, idle, iowait, irq, softirq,
// steal. Later values are contained in user.
func parseProcessorTimes(text string) (t ProcessorTimes) {
	const fields, stolen = 8, 7
	line, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(line)
	if len(words) <= fields || words[0] != "cpu" {
		return t
	}
	for i, w := range words[1 : fields+1] {
		n, err := strconv.ParseUint(w, 10, 64)
		if err != nil {
			return ProcessorTimes{}
		}
		t.all += n
		if i == stolen {
			t.stolen = n
		}
	}
	return t
}

// StolenSince returns the share of processor time that the host of a virtual machine took since then; 0 if
// unknown.
func (t ProcessorTimes) StolenSince(then ProcessorTimes) float64 {
	if then.all == 0 || t.all <= then.all || t.stolen < then.stolen {
		return 0
	}
	return float64(t.stolen-then.stolen) / float64(t.all-then.all)
}
