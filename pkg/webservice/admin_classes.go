package webservice

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// routeClassChanges serves the requests that change priority classes.
func (s *service) routeClassChanges(mux *router) {
	s.routeChange(mux, http.MethodPost, "/ws/v1/priorityclasses", http.StatusCreated, objectContentTypes, s.createClass)
	s.routeChange(mux, http.MethodPut, "/ws/v1/priorityclass/{name}", http.StatusOK, objectContentTypes, s.updateClass)
	s.routeChange(mux, http.MethodDelete, "/ws/v1/priorityclass/{name}", http.StatusOK, nil, s.deleteClass)
}

// classChangeBody answers a change of a priority class.
type classChangeBody struct {
	classBody
	Generation uint64 `json:"generation"` // in force now
	Changed    bool   `json:"changed"`    // false: the class was like this before
	NotStored  string `json:"notStored,omitempty"`
}

func (s *service) createClass(r *http.Request) (any, error) {
	doc, err := s.readClass(r, "")
	if err != nil {
		return nil, err
	}
	return s.editClasses(r, &doc.Class, func(now priorities.Registry) (priorities.Registry, error) {
		return now.With(doc.Class)
	})
}

// updateClass replaces the whole class except for its preemption policy and its submit ACL, which
// stay if the request does not have them: older clients do not send these fields.
func (s *service) updateClass(r *http.Request) (any, error) {
	name, err := parameter(r, "name")
	if err != nil {
		return nil, err
	}
	doc, err := s.readClass(r, name)
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
				doc.Class.SubmitACL = old.SubmitACL
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
	deleted := priorities.Class{Name: name}
	return s.editClasses(r, &deleted, func(now priorities.Registry) (priorities.Registry, error) {
		if c, ok := now.Get(name); ok {
			deleted = *c
		}
		return now.Without(name)
	})
}

// readClass reads the class in the body of a request.
func (s *service) readClass(r *http.Request, name string) (queuesyaml.ClassDocument, error) {
	text, err := objectText(r)
	if err != nil {
		return queuesyaml.ClassDocument{}, err
	}
	doc, problems := queuesyaml.ReadClass(text, name, queuesyaml.Options{})
	if problems.HasErrors() {
		return queuesyaml.ClassDocument{}, invalidObject(problems.Errors(), "class-", "priority class")
	}
	return doc, nil
}

// editClasses applies a change of the priority classes in force.
func (s *service) editClasses(
	r *http.Request, c *priorities.Class, edit func(priorities.Registry) (priorities.Registry, error),
) (any, error) {
	res, err := s.editConfig(r, func(now *configs.Config, g *reload.Generation) ([]byte, error) {
		next, err := edit(now.Classes)
		if err != nil {
			return nil, classFailure(err)
		}
		return notEditable(s.opt.Reloads.EditClasses(g, next))
	})
	if err != nil {
		return nil, err
	}
	return classChangeBody{viewClass(c), res.Generation.Number, res.Changed, errorText(res.StoreError)}, nil
}

// classFailure maps a refusal of package priorities to a status; of several, the first one decides.
func classFailure(err error) error {
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
	return newObjectFailure(status, string(p.Reason), err.Error(), nil)
}
