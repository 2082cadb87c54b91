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

// objectTypes are what objects may be sent as.
var objectTypes = append([]string{"application/json"}, yamlTypes...)

// objectFailure is an errorBody with the reason that stays the same.
type objectFailure struct {
	errorBody
	Reason   string           `json:"reason,omitempty"`
	Problems configs.Problems `json:"problems,omitempty"`
}

func objectFailed(status int, why, text string, problems configs.Problems) error {
	return &failure{status: status, reason: text, body: objectFailure{errorBody{status, text, text}, why, problems}}
}

// objectText is the object in the body of a request.
func objectText(r *http.Request) ([]byte, error) {
	const longest = 1 << 20
	text, err := io.ReadAll(io.LimitReader(r.Body, longest+1))
	switch {
	case err != nil:
		return nil, badRequest("the body cannot be read: " + err.Error())
	case len(text) > longest:
		return nil, &failure{status: http.StatusRequestEntityTooLarge, reason: fmt.Sprintf("the body is longer than %d bytes", longest)}
	}
	return text, nil
}

// unreadable is a refusal of what somebody wrote: 422 if it can be read but must not be, with
// the reason of the first of these problems. rules is what the rules about such objects begin
// with.
func unreadable(problems configs.Problems, rules, what string) error {
	for _, p := range problems {
		if reason, ok := strings.CutPrefix(p.Rule, rules); ok {
			return objectFailed(http.StatusUnprocessableEntity, reason, reason+": "+p.Path+": "+p.Message, problems)
		}
	}
	return objectFailed(http.StatusBadRequest, "", "the body is no "+what+": "+problems[0].Message, problems)
}

// mostTries is how often a change is made anew because another one came first.
const mostTries = 10

// edit changes the configuration in force, whichever it is when it comes to it. text is that
// of a generation after the change.
func (s *service) edit(
	r *http.Request, text func(now *configs.Config, g *reload.Generation) ([]byte, error),
) (reload.Result, error) {
	over, err := ifMatch(r)
	if err != nil {
		return reload.Result{}, err
	}
	for try := 1; ; try++ {
		now := s.opt.Reloads.Current()
		if over != 0 && over != now.Number {
			return reload.Result{}, fmt.Errorf("%w: %d, not %d", reload.ErrStale, now.Number, over)
		}
		next, err := text(s.inForce(), now)
		if err != nil {
			return reload.Result{}, err
		}
		wish, err := s.opt.Reloads.Read(reload.REST, caller(r), next)
		if err != nil {
			return reload.Result{}, err
		}
		wish.OnlyOver = now.Number
		res, err := s.opt.Reloads.Enact(r.Context(), wish)
		if errors.Is(err, reload.ErrStale) && over == 0 && try < mostTries {
			continue
		}
		return res, err
	}
}

// inForce is the configuration, an empty one before the first.
func (s *service) inForce() *configs.Config {
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
