package webservice

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// A change of a priority class or of a disruption budget is a change of the configuration: its
// text gets the object, and becomes a generation like any other (ADR 23, 27).

// objectContentTypes are what objects may be sent as.
var objectContentTypes = append([]string{"application/json"}, yamlContentTypes...)

// objectFailure is an errorBody with the reason that stays the same.
type objectFailure struct {
	errorBody
	Reason   string           `json:"reason,omitempty"`
	Problems configs.Problems `json:"problems,omitempty"`
}

func newObjectFailure(status int, reason, text string, problems configs.Problems) error {
	return &failure{status: status, reason: text, body: objectFailure{errorBody{status, text, text}, reason, problems}}
}

// objectText is the object in the body of a request.
func objectText(r *http.Request) ([]byte, error) {
	const maxBytes = 1 << 20
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBytes+1))
	switch {
	case err != nil:
		return nil, badRequest("the body cannot be read: " + err.Error())
	case len(text) > maxBytes:
		return nil, &failure{status: http.StatusRequestEntityTooLarge, reason: fmt.Sprintf("the body is longer than %d bytes", maxBytes)}
	}
	return text, nil
}

// invalidObject is a refusal of what somebody wrote: 422 if it can be read but must not be, with
// the reason of the first of these problems. rules is what the rules about such objects begin
// with.
func invalidObject(problems configs.Problems, prefix, what string) error {
	for _, p := range problems {
		if reason, ok := strings.CutPrefix(p.RuleID, prefix); ok {
			return newObjectFailure(http.StatusUnprocessableEntity, reason, reason+": "+p.Path+": "+p.Message, problems)
		}
	}
	return newObjectFailure(http.StatusBadRequest, "", "the body is no "+what+": "+problems[0].Message, problems)
}

// maxEditAttempts is how often a change is made anew because another one came first.
const maxEditAttempts = 10

// editConfig changes the configuration in force, whichever it is when it comes to it. text is that
// of a generation after the change.
func (s *service) editConfig(
	r *http.Request, text func(now *configs.Config, g *reload.Generation) ([]byte, error),
) (reload.Result, error) {
	expected, err := ifMatch(r)
	if err != nil {
		return reload.Result{}, err
	}
	for try := 1; ; try++ {
		now := s.opt.Reloads.Current()
		if expected != 0 && expected != now.Number {
			return reload.Result{}, fmt.Errorf("%w: %d, not %d", reload.ErrGenerationConflict, now.Number, expected)
		}
		next, err := text(s.currentConfig(), now)
		if err != nil {
			return reload.Result{}, err
		}
		proposal, err := s.opt.Reloads.Read(reload.REST, clientAddress(r), next)
		if err != nil {
			return reload.Result{}, err
		}
		proposal.ExpectedGeneration = now.Number
		res, err := s.opt.Reloads.Apply(r.Context(), proposal)
		if errors.Is(err, reload.ErrGenerationConflict) && expected == 0 && try < maxEditAttempts {
			continue
		}
		return res, err
	}
}

// currentConfig is the configuration, an empty one before the first.
func (s *service) currentConfig() *configs.Config {
	if conf := s.cluster.Config(); conf != nil {
		return conf
	}
	return &configs.Config{}
}

// notEditable is the refusal of a text that a program cannot change.
func notEditable(text []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, &failure{status: http.StatusConflict, reason: err.Error()}
	}
	return text, nil
}
