package webservice

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

// A change of a priority class or of a disruption budget changes the configuration: the object is
// written into its text, which becomes a generation like any other (ADR 23, 27).

// objectContentTypes are the media types in which an object may be sent.
var objectContentTypes = append([]string{"application/json"}, yamlContentTypes...)

// objectFailure is an errorBody with a stable reason code.
type objectFailure struct {
	errorBody
	Reason   string              `json:"reason,omitempty"`
	Problems queuesyaml.Problems `json:"problems,omitempty"`
}

func newObjectFailure(status int, reason, text string, problems queuesyaml.Problems) error {
	return &failure{status: status, reason: text, body: objectFailure{errorBody{status, text, text}, reason, problems}}
}

// objectText reads the body of a request, at most 1 MiB.
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

// invalidObject refuses an invalid object: with status 422 and the reason of the first problem
// whose rule has the prefix, else with 400.
func invalidObject(problems queuesyaml.Problems, prefix, what string) error {
	for _, p := range problems {
		if reason, ok := strings.CutPrefix(p.RuleID, prefix); ok {
			return newObjectFailure(http.StatusUnprocessableEntity, reason, reason+": "+p.Path+": "+p.Message, problems)
		}
	}
	return newObjectFailure(http.StatusBadRequest, "", "the body is no "+what+": "+problems[0].Message, problems)
}

// maxEditAttempts is how often a change is attempted while other changes are applied in between.
const maxEditAttempts = 10

// editConfig applies a change to the configuration in force. text returns the configuration text
// after the change; it is called again if another generation came into force meanwhile, unless
// the request has If-Match.
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

// currentConfig is the configuration in force; empty before the first.
func (s *service) currentConfig() *configs.Config {
	if conf := s.cluster.Config(); conf != nil {
		return conf
	}
	return &configs.Config{}
}

// notEditable refuses with 409 a text that cannot be changed by a program.
func notEditable(text []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, &failure{status: http.StatusConflict, reason: err.Error()}
	}
	return text, nil
}
