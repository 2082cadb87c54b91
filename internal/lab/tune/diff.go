package tune

import (
	"fmt"
	"strings"
)

// diffLines returns the lines that differ: "-12 old" and "+12 new", with the number of the line in its text.
func diffLines(before, after string) (out []string) {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		if i < len(a) && j < len(b) && a[i] == b[j] {
			i, j = i+1, j+1
			continue
		}
		skipA, skipB := nextEqual(a[i:], b[j:])
		for ; skipA > 0; skipA-- {
			out = append(out, fmt.Sprintf("-%d %s", i+1, a[i]))
			i++
		}
		for ; skipB > 0; skipB-- {
			out = append(out, fmt.Sprintf("+%d %s", j+1, b[j]))
			j++
		}
	}
	return out
}

// maxSkip bounds how far equal lines are searched: a change adds a few lines in one place.
const maxSkip = 50

// nextEqual returns how many lines of both are skipped until they are equal, as few as can be; all: they never are.
func nextEqual(a, b []string) (skipA, skipB int) {
	for sum := 1; sum <= maxSkip; sum++ {
		for skipA := min(sum, len(a)); skipA >= 0; skipA-- {
			if skipB := sum - skipA; skipB <= len(b) &&
				(skipA < len(a) && skipB < len(b) && a[skipA] == b[skipB] || skipA == len(a) && skipB == len(b)) {
				return skipA, skipB
			}
		}
	}
	return len(a), len(b)
}
