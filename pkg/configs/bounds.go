package configs

import "fmt"

// checkTextSize reports whether a text is small enough to be parsed, and what it is too large in.
func (r *reader) checkTextSize(text []byte) bool {
	if len(text) > r.options.MaxBytes {
		r.add(nil, position{}, "bound-bytes", fmt.Sprintf("the text is longer than max-config-bytes (%d)", r.options.MaxBytes), "")
		return false
	}
	if n := countValues(text); n > r.options.MaxValues {
		r.add(nil, position{}, "bound-values", fmt.Sprintf("the text has about %d values, more than max-config-values (%d)",
			n, r.options.MaxValues), "")
		return false
	}
	return true
}

// valuesPerComment is how many values cost the parser as much as a comment: it makes 1.4 kB of one.
const valuesPerComment = 4

// countValues is about how many nodes the YAML parser would make of a text. It counts what
// separates them without parsing: the parser makes some 300 bytes of what may be two in the
// text, and has no bound of its own. Separators in comments and quoted texts count, too; in
// documents that people and programs write that makes no difference. A comment counts several
// times: the parser keeps more for one than for a value.
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
