package webservice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// A change of a class is a change of the configuration: its text gets the class, and becomes
// a generation like any other (ADR 23).

// changeClasses serves what changes classes.
func (s *service) changeClasses(mux *http.ServeMux) {
	types := append([]string{"application/json"}, yamlTypes...)
	s.change(mux, http.MethodPost, "/ws/v1/priorityclasses", http.StatusCreated, types, s.createClass)
	s.change(mux, http.MethodPut, "/ws/v1/priorityclass/{name}", http.StatusOK, types, s.updateClass)
	s.change(mux, http.MethodDelete, "/ws/v1/priorityclass/{name}", http.StatusOK, nil, s.deleteClass)
}

// changedClass answers who changed a class.
type changedClass struct {
	classBody
	Generation uint64 `json:"generation"` // in force now
	Changed    bool   `json:"changed"`    // false: it was so before
}

// classFailure is an errorBody with the reason that stays the same.
type classFailure struct {
	errorBody
	Reason   priorities.Reason `json:"reason,omitempty"`
	Problems configs.Problems  `json:"problems,omitempty"`
}

func (s *service) createClass(r *http.Request) (any, error) {
	doc, err := s.classOf(r, "")
	if err != nil {
		return nil, err
	}
	return s.editClasses(r, &doc.Class, func(now priorities.Registry) (priorities.Registry, error) {
		return now.With(doc.Class)
	})
}

// updateClass takes the whole class but for its policy and its access list, which stay if it
// does not say: clients that know the fields of the first designs only send no others.
func (s *service) updateClass(r *http.Request) (any, error) {
	name, err := parameter(r, "name")
	if err != nil {
		return nil, err
	}
	doc, err := s.classOf(r, name)
	if err != nil {
		return nil, err
	}
	if doc.Class.Name != name {
		return nil, badRequest(fmt.Sprintf("the class in the body is %q, but the path says %q", doc.Class.Name, name))
	}
	return s.editClasses(r, &doc.Class, func(now priorities.Registry) (priorities.Registry, error) {
		if old, ok := now.Get(name); ok {
			if !doc.HasPolicy {
				doc.Class.Policy = old.Policy
			}
			if !doc.HasACL {
				doc.Class.Submit = old.Submit
			}
		}
		return now.Update(doc.Class)
	})
}

func (s *service) deleteClass(r *http.Request) (any, error) {
	name, err := parameter(r, "name")
	if err != nil {
		return nil, err
	}
	gone := priorities.Class{Name: name}
	return s.editClasses(r, &gone, func(now priorities.Registry) (priorities.Registry, error) {
		if c, ok := now.Get(name); ok {
			gone = *c
		}
		return now.Without(name)
	})
}

// classOf is the class in the body of a request.
func (s *service) classOf(r *http.Request, name string) (configs.ClassText, error) {
	const longest = 1 << 20
	text, err := io.ReadAll(io.LimitReader(r.Body, longest+1))
	switch {
	case err != nil:
		return configs.ClassText{}, badRequest("the body cannot be read: " + err.Error())
	case len(text) > longest:
		return configs.ClassText{}, &failure{status: http.StatusRequestEntityTooLarge,
			reason: fmt.Sprintf("the body is longer than %d bytes", longest)}
	}
	doc, problems := configs.ReadClass(text, name, configs.Options{})
	if problems.HasErrors() {
		return configs.ClassText{}, classUnreadable(problems.Errors())
	}
	return doc, nil
}

// classUnreadable is a refusal of what somebody wrote: 422 if it can be read but must not be,
// with the reason of the first of these problems.
func classUnreadable(problems configs.Problems) error {
	for _, p := range problems {
		if reason, ok := strings.CutPrefix(p.Rule, "class-"); ok {
			return classFailed(http.StatusUnprocessableEntity, priorities.Reason(reason), reason+": "+p.Path+": "+p.Message, problems)
		}
	}
	return classFailed(http.StatusBadRequest, "", "the body is no priority class: "+problems[0].Message, problems)
}

// mostTries is how often a change is made anew because another one came first.
const mostTries = 10

// editClasses changes the classes in force, whichever these are when it comes to it.
func (s *service) editClasses(
	r *http.Request, c *priorities.Class, edit func(priorities.Registry) (priorities.Registry, error),
) (any, error) {
	over, err := ifMatch(r)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		now := s.opt.Reloads.Current()
		if over != 0 && over != now.Number {
			return nil, fmt.Errorf("%w: %d, not %d", reload.ErrStale, now.Number, over)
		}
		next, err := edit(s.registry())
		if err != nil {
			return nil, classRefused(err)
		}
		res, err := s.enactClasses(r.Context(), caller(r), now, next)
		if errors.Is(err, reload.ErrStale) && over == 0 && try < mostTries {
			continue
		}
		if err != nil {
			return nil, err
		}
		return changedClass{viewClass(c), res.Generation.Number, res.Changed}, nil
	}
}

func (s *service) enactClasses(
	ctx context.Context, who string, now *reload.Generation, next priorities.Registry,
) (reload.Result, error) {
	text, err := s.opt.Reloads.EditClasses(now, next)
	if err != nil {
		return reload.Result{}, &failure{status: http.StatusConflict, reason: err.Error()}
	}
	wish, err := s.opt.Reloads.Read(reload.REST, who, text)
	if err != nil {
		return reload.Result{}, err
	}
	wish.OnlyOver = now.Number
	return s.opt.Reloads.Enact(ctx, wish)
}

// classRefused gives a refusal of package priorities its status. Several at once have that
// of the first.
func classRefused(err error) error {
	p := new(priorities.Problem)
	if !errors.As(err, &p) {
		return err
	}
	status := http.StatusUnprocessableEntity
	switch p.Reason {
	case priorities.UnknownClass:
		status = http.StatusNotFound
	case priorities.AlreadyExists:
		status = http.StatusConflict
	case priorities.SecondGlobalDefault:
		status = http.StatusForbidden
	}
	return classFailed(status, p.Reason, err.Error(), nil)
}

func classFailed(status int, why priorities.Reason, text string, problems configs.Problems) error {
	return &failure{status: status, reason: text, body: classFailure{errorBody{status, text, text}, why, problems}}
}
