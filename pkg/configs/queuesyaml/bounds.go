package queuesyaml

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// checkTextSize reports whether a text is small enough to be parsed, and adds a problem if it
// exceeds the bound on bytes or on values (CFG-15).
func (r *reader) checkTextSize(text []byte) bool {
	if len(text) > r.options.MaxBytes {
		r.Add(nil, validation.Position{}, "bound-bytes",
			fmt.Sprintf("the text is longer than max-config-bytes (%d)", r.options.MaxBytes), "")
		return false
	}
	if n := countValues(text); n > r.options.MaxValues {
		r.Add(nil, validation.Position{}, "bound-values",
			fmt.Sprintf("the text has about %d values, more than max-config-values (%d)",
				n, r.options.MaxValues), "")
		return false
	}
	return true
}

// valuesPerComment is the number of values that a comment counts as: the parser keeps 1.4 kB for a comment.
const valuesPerComment = 4

// countValues estimates how many nodes the YAML parser would make of a text. It counts separators
// without parsing: the parser keeps some 300 bytes for a node that may take two bytes of text, and
// has no bound of its own. Separators in comments and quoted texts count too; in documents in
// use that makes no difference. A comment counts as valuesPerComment.
func countValues(text []byte) (n int) {
	for i, c := range text {
		switch c {
		case '#':
			if i == 0 || text[i-1] == ' ' || text[i-1] == '\n' || text[i-1] == '\t' {
				n += valuesPerComment
			}
		case ',', ':', '\n', '[', '{':
			n++
		case '-':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\n') {
				n++
			}
		}
	}
	return n
}
