package webservice

// indentedPieces is the JSON of all, which is compact, with a line for each value, as json.Indent with two spaces
// writes it. It is for answers that people read and that are too long to be in memory as a whole.
func indentedPieces(all pieces) pieces {
	return func(yield func([]byte) bool) {
		var t indenter
		for piece := range all {
			t.out = t.out[:0]
			t.add(piece)
			if len(t.out) > 0 && !yield(t.out) {
				return
			}
		}
	}
}

// indenter is the state of indentedPieces.
type indenter struct {
	out      []byte
	depth    int
	opened   bool // the last byte opened an object or a list, which may be empty
	inString bool
	escaped  bool // the last byte was a backslash in a string
}

func (t *indenter) add(piece []byte) {
	for _, c := range piece {
		switch {
		case t.escaped:
			t.escaped = false
			t.out = append(t.out, c)
		case t.inString:
			t.escaped = c == '\\'
			t.inString = c != '"'
			t.out = append(t.out, c)
		case c == '}' || c == ']':
			t.depth--
			if !t.opened {
				t.newline()
			}
			t.opened = false
			t.out = append(t.out, c)
		default:
			t.value(c)
		}
	}
}

// value adds a byte outside of strings that ends no object and no list.
func (t *indenter) value(c byte) {
	if t.opened {
		t.opened = false
		t.newline()
	}
	t.out = append(t.out, c)
	switch c {
	case '{', '[':
		t.depth++
		t.opened = true
	case '"':
		t.inString = true
	case ',':
		t.newline()
	case ':':
		t.out = append(t.out, ' ')
	}
}

func (t *indenter) newline() {
	t.out = append(t.out, '\n')
	for range t.depth {
		t.out = append(t.out, ' ', ' ')
	}
}
