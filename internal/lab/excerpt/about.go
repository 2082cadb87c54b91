package excerpt

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// About reports whether an effect is about the ask, the allocation, the application, the node or the queue with a name:
// whether its text has the name, and not as a part of a longer one.
func About(e scheduler.Effect, name string) bool {
	text := e.String()
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(name):])
		if (i == 0 || !inName(before)) && (i+len(name) == len(text) || !inName(after)) {
			return true
		}
		from = i + 1
	}
	return false
}

// inName reports whether a rune may be in the middle of a name.
func inName(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./", r)
}
