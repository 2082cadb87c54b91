package webservice

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// jsonText is JSON to which values are appended, byte for byte as encoding/json writes them. It is for the
// objects of which one answer has thousands: they are written without reflection, and without maps.
type jsonText struct {
	text  []byte
	comma bool // the next name or element needs one
	keys  []string
}

// pieceBytes is the size from which on the text of an answer is a piece of it.
const pieceBytes = 4 << 10

// jsonTexts are buffers of answers that are being written.
var jsonTexts = sync.Pool{New: func() any { return &jsonText{text: make([]byte, 0, 2*pieceBytes)} }}

// newJSONText returns an empty text; release gives its buffer back.
func newJSONText() *jsonText {
	t, _ := jsonTexts.Get().(*jsonText)
	t.text, t.comma = t.text[:0], false
	return t
}

// maxPooledBytes is the size of the largest buffer that is kept for another answer.
const maxPooledBytes = 64 << 10

func (t *jsonText) release() {
	if cap(t.text) > maxPooledBytes {
		t.text = nil
	}
	jsonTexts.Put(t)
}

// flush yields the text if it is a piece, and empties it; false: the answer has ended.
func (t *jsonText) flush(yield func([]byte) bool) bool {
	if len(t.text) < pieceBytes {
		return true
	}
	more := yield(t.text)
	t.text = t.text[:0]
	return more
}

// begin and end enclose an object or a list: bracket is one of {}[].
func (t *jsonText) begin(bracket byte) {
	t.separate()
	t.text, t.comma = append(t.text, bracket), false
}

func (t *jsonText) end(bracket byte) { t.text, t.comma = append(t.text, bracket), true }

func (t *jsonText) separate() {
	if t.comma {
		t.text = append(t.text, ',')
	}
}

// name begins a field with a name that needs no escapes. The value follows without a comma.
func (t *jsonText) name(name string) {
	t.separate()
	t.text = append(t.text, '"')
	t.text = append(t.text, name...)
	t.text = append(t.text, '"', ':')
	t.comma = false
}

// key is name with any text.
func (t *jsonText) key(key string) {
	t.element(key)
	t.text, t.comma = append(t.text, ':'), false
}

// element appends a text as a value.
func (t *jsonText) element(value string) {
	t.separate()
	t.text, t.comma = appendJSONString(t.text, value), true
}

// number appends a number as a value.
func (t *jsonText) number(n int64) {
	t.separate()
	t.text, t.comma = strconv.AppendInt(t.text, n, 10), true
}

// field appends a field with a text.
func (t *jsonText) field(name, value string) {
	t.name(name)
	t.element(value)
}

// optional appends a field with a text, which is left out if it is empty.
func (t *jsonText) optional(name, value string) {
	if value != "" {
		t.field(name, value)
	}
}

// optionalNumber appends a field with a number, which is left out if it is 0.
func (t *jsonText) optionalNumber(name string, n int64) {
	if n != 0 {
		t.name(name)
		t.number(n)
	}
}

// optionalCount is optionalNumber for a number that is never negative.
func (t *jsonText) optionalCount(name string, n uint64) {
	if n != 0 {
		t.name(name)
		t.text, t.comma = strconv.AppendUint(t.text, n, 10), true
	}
}

// optionalTrue appends a field that is true, or left out.
func (t *jsonText) optionalTrue(name string, is bool) {
	if is {
		t.name(name)
		t.text, t.comma = append(t.text, "true"...), true
	}
}

// optionalAmounts appends a field with quantities by resource, which is left out if there are none.
func (t *jsonText) optionalAmounts(name string, a resources.Amounts) {
	if a.IsZero() {
		return
	}
	t.name(name)
	t.begin('{')
	for resource, n := range a.All() {
		t.key(resource)
		t.number(int64(n))
	}
	t.end('}')
}

// optionalMap appends a field with texts by key, which is left out if there are none.
func (t *jsonText) optionalMap(name string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	t.keys = slices.AppendSeq(t.keys[:0], maps.Keys(m))
	slices.Sort(t.keys)
	t.name(name)
	t.begin('{')
	for _, key := range t.keys {
		t.key(key)
		t.element(m[key])
	}
	t.end('}')
	clear(t.keys) // buffers are kept, texts are not
}

// optionalLimit is optionalAmounts with the quantities of a limit, zeroes included.
func (t *jsonText) optionalLimit(name string, l resources.Limit) {
	if l.IsUnlimited() {
		return
	}
	t.name(name)
	t.begin('{')
	for resource, n := range l.All() {
		t.key(resource)
		t.number(int64(n))
	}
	t.end('}')
}

// appendJSONString appends s as a JSON string, in which <, > and & are escaped too.
func appendJSONString(to []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x80 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, err := json.Marshal(s)
			if err != nil {
				panic("webservice: " + err.Error()) // every string can be encoded
			}
			return append(to, text...)
		}
	}
	to = append(to, '"')
	to = append(to, s...)
	return append(to, '"')
}
