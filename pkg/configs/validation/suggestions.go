package validation

import (
	"fmt"
	"strings"
)

// maxSuggestionLength bounds the texts that are compared, in bytes: no known word is longer (CFG-14).
const maxSuggestionLength = 64

// DidYouMean is a hint at the known word nearest to the written one, such as `did you mean "queues"?`, or
// empty. Case, hyphens
// and underscores do not count, so submitACL and max-applications are found (CFG-14).
func DidYouMean(written string, known []string) string {
	if best := Nearest(written, known); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return ""
}

// Nearest is the known word nearest to the written one, or empty: at most one edit per four bytes of
// the known word, at least one and at most three.
func Nearest(written string, known []string) string {
	if len(written) > maxSuggestionLength {
		return ""
	}
	w := normalizeWord(written)
	best, bestEdits := "", 4
	for _, k := range known {
		limit := min(bestEdits, 1+max(1, len(k)/4))
		if len(w)-len(k) >= limit || len(k)-len(w) >= limit {
			continue // the lengths alone differ too much
		}
		if n := editDistance(w, k); n < limit {
			best, bestEdits = k, n
		}
	}
	return best
}

var separators = strings.NewReplacer("-", "", "_", "", " ", "")

// normalizeWord is s in lower case without separators, like the known words.
func normalizeWord(s string) string { return separators.Replace(strings.ToLower(s)) }

// editDistance is the Levenshtein distance of a and b, in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Quote quotes a text of the document for a message, and shortens it to 80 bytes.
func Quote(s string) string {
	const longest = 80
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "..."
	}
	return fmt.Sprintf("%q", s)
}
