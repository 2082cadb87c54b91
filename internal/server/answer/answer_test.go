package answer

import (
	"testing"

	"gotest.tools/v3/assert"
)

// operated is the answer about an action.
type operated struct {
	Action string `json:"action"`
	Name   string `json:"name"`
}

// queue is an element of a list.
type queue struct {
	Name string `json:"queuename"`
}

func TestDecode_RefusesWhatIsOfAnotherKind(t *testing.T) {
	for _, c := range []struct {
		body string
		into any
		want string
	}{
		{`{"action":"stop","name":"root.a","changed":true,"more":1}`, new(operated), ""},
		{`[{"queuename":"root"}]`, new([]queue), ""},
		{`[]`, new([]queue), ""},
		{`[{"name":"default"}]`, new([]struct{ Name string }), ""},
		{`{"vcore":1}`, new(map[string]int64), ""},
		{`null`, new(operated), "the answer has null in place of an object"},
		{" null\n", new([]queue), "the answer has null in place of a list"},
		{`[null]`, new([]queue), "the answer has null in place of an object"},
		{`{}`, new(operated), "the answer has an object of another kind: {}"},
		{`{"status":"ok"}`, new(operated), `the answer has an object of another kind: {"status":"ok"}`},
		{`[{"a":1}]`, new([]queue), `the answer has an object of another kind: {"a":1}`},
		{`[]`, new(operated), "json: cannot unmarshal array into Go value of type answer.operated"},
		{`{"a`, new(operated), "unexpected end of JSON input"},
	} {
		got := ""
		if err := Decode([]byte(c.body), c.into); err != nil {
			got = err.Error()
		}
		assert.Equal(t, got, c.want, c.body)
	}
}
