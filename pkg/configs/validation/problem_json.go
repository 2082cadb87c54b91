package validation

import (
	"encoding/json"
	"fmt"
)

// problemJSON is the JSON form of a Problem. Its names are a public interface and stay.
type problemJSON struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Path     string `json:"path"`
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Hint     string `json:"hint"`
}

// MarshalJSON writes all fields, empty ones included.
func (p Problem) MarshalJSON() ([]byte, error) {
	return json.Marshal(problemJSON{p.Line, p.Col, p.Path, p.RuleID, p.Severity.String(), p.Message, p.Hint})
}

// MarshalJSON writes a list, an empty one for nil.
func (p Problems) MarshalJSON() ([]byte, error) {
	list := []Problem(p)
	if list == nil {
		list = []Problem{}
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads the output of MarshalJSON. An unknown severity is an error.
func (p *Problem) UnmarshalJSON(text []byte) error {
	var j problemJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*p = Problem{j.Line, j.Column, j.Path, j.Rule, Error, j.Message, j.Hint}
	switch j.Severity {
	case Error.String():
	case Warning.String():
		p.Severity = Warning
	default:
		return fmt.Errorf("severity %q is neither error nor warning", j.Severity)
	}
	return nil
}
