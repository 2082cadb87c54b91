package webservice

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/server/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/registry"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// A change of a named object, such as a priority class, changes the configuration: the object is
// written into its text, which becomes a generation like any other (ADR 23, 27, 50).

// objectContentTypes are the media types in which an object may be sent.
var objectContentTypes = append([]string{"application/json"}, yamlContentTypes...)

// changeBody are the fields of every answer to a change of an object.
type changeBody struct {
	Generation uint64              `json:"generation"`         // in force now
	Changed    bool                `json:"changed"`            // false: the object was like this before
	Warnings   validation.Problems `json:"warnings,omitempty"` // about the object in the request
	NotStored  string              `json:"notStored,omitempty"`
}

// create creates an object, in the namespace that the body names or else the query.
func (k *objectKind[T, P]) create(s *service, r *http.Request) (any, error) {
	sent, warnings, err := k.readBody(r, "")
	if err != nil {
		return nil, err
	}
	return k.change(s, r, warnings, func(now registry.Registry[T, P]) (registry.Registry[T, P], *T, error) {
		next, err := now.With(sent.Object)
		return next, &sent.Object, err
	})
}

// update replaces the whole object: a field that is not sent has its default, or stays if the kind says so.
func (k *objectKind[T, P]) update(s *service, r *http.Request) (any, error) {
	key, err := k.key(r)
	if err != nil {
		return nil, err
	}
	sent, warnings, err := k.readBody(r, key.Name)
	if err != nil {
		return nil, err
	}
	if got := P(&sent.Object).Key(); got != key {
		subject := "the path says"
		if k.namespace != "" {
			subject = "the request is about"
		}
		return nil, badRequest("the %s in the body is %q, but %s %q", P(nil).Kind().Short, got, subject, key)
	}
	return k.change(s, r, warnings, func(now registry.Registry[T, P]) (registry.Registry[T, P], *T, error) {
		if old, ok := now.Get(key); ok && k.complete != nil {
			k.complete(&sent, old)
		}
		next, err := now.Update(sent.Object)
		return next, &sent.Object, err
	})
}

// delete deletes an object, and answers with it.
func (k *objectKind[T, P]) delete(s *service, r *http.Request) (any, error) {
	key, err := k.key(r)
	if err != nil {
		return nil, err
	}
	return k.change(s, r, nil, func(now registry.Registry[T, P]) (registry.Registry[T, P], *T, error) {
		old, _ := now.Get(key)
		next, err := now.Without(key)
		return next, old, err
	})
}

// readBody reads the object in the body of a request. An object without a name has the given one.
func (k *objectKind[T, P]) readBody(r *http.Request, name string) (queuesyaml.Document[T], validation.Problems, error) {
	text, err := objectText(r)
	if err != nil {
		return queuesyaml.Document[T]{}, nil, err
	}
	sent, problems := k.list.ReadOne(text, registry.Key{Namespace: k.sentNamespace(r), Name: name}, queuesyaml.Options{})
	if problems.HasErrors() {
		kind := P(nil).Kind()
		return sent, nil, invalidObject(problems.Errors(), kind.Short+"-", kind.Name)
	}
	return sent, problems.Warnings(), nil
}

// change applies a change of the objects in force, and answers with the object that edit returns.
func (k *objectKind[T, P]) change(
	s *service, r *http.Request, warnings validation.Problems,
	edit func(registry.Registry[T, P]) (registry.Registry[T, P], *T, error),
) (any, error) {
	var changed *T
	res, err := s.editConfig(r, func(now *configs.Config, g *reload.Generation) ([]byte, error) {
		next, x, err := edit(k.inForce(now))
		if err != nil {
			return nil, k.refusal(err)
		}
		changed = x
		return notEditable(k.list.Edit([]byte(g.Text), next, s.opt.Reloads.Bounds()))
	})
	if err != nil {
		return nil, err
	}
	if !k.warns {
		warnings = nil
	}
	return k.changed(changed, changeBody{res.Generation.Number, res.Changed, warnings, errorText(res.StoreError)}), nil
}

// refusal maps a refusal of the registry to a status; of several, the first one decides.
func (k *objectKind[T, P]) refusal(err error) error {
	p := new(registry.Problem)
	if !errors.As(err, &p) {
		return err
	}
	status := http.StatusUnprocessableEntity
	switch p.Reason {
	case P(nil).Kind().Unknown():
		status = http.StatusNotFound
	case registry.AlreadyExists:
		status = http.StatusConflict
	case registry.SecondDefault:
		status = http.StatusForbidden
	}
	return newObjectFailure(status, string(p.Reason), err.Error(), nil)
}

// objectFailure is a dao.Error with a stable reason code.
type objectFailure struct {
	dao.Error
	Reason   string              `json:"reason,omitempty"`
	Problems validation.Problems `json:"problems,omitempty"`
}

func newObjectFailure(status int, reason, text string, problems validation.Problems) error {
	return &failure{status: status, reason: text, body: objectFailure{dao.NewError(status, text), reason, problems}}
}

// objectText reads the body of a request, at most 1 MiB.
func objectText(r *http.Request) ([]byte, error) {
	const maxBytes = 1 << 20
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBytes+1))
	switch {
	case err != nil:
		return nil, badRequest("the body cannot be read: %v", err)
	case len(text) > maxBytes:
		return nil, refusal(http.StatusRequestEntityTooLarge, "the body is longer than %d bytes", maxBytes)
	}
	return text, nil
}

// invalidObject refuses an invalid object: with status 422 and the reason of the first problem
// whose rule has the prefix, else with 400.
func invalidObject(problems validation.Problems, prefix, what string) error {
	for _, p := range problems {
		if reason, ok := strings.CutPrefix(p.RuleID, prefix); ok {
			return newObjectFailure(http.StatusUnprocessableEntity, reason, reason+": "+p.Path+": "+p.Message, problems)
		}
	}
	return newObjectFailure(http.StatusBadRequest, "", "the body is no "+what+": "+problems[0].Message, problems)
}

// maxEditAttempts bounds the attempts of a change while other changes are applied in between.
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
		return nil, refusal(http.StatusConflict, "%v", err)
	}
	return text, nil
}
