package webservice

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/canopy-scheduler/canopy/internal/reload"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// changeClasses serves what changes classes.
func (s *service) changeClasses(mux *router) {
	s.change(mux, http.MethodPost, "/ws/v1/priorityclasses", http.StatusCreated, objectTypes, s.createClass)
	s.change(mux, http.MethodPut, "/ws/v1/priorityclass/{name}", http.StatusOK, objectTypes, s.updateClass)
	s.change(mux, http.MethodDelete, "/ws/v1/priorityclass/{name}", http.StatusOK, nil, s.deleteClass)
}

// changedClass answers who changed a class.
type changedClass struct {
	classBody
	Generation uint64 `json:"generation"` // in force now
	Changed    bool   `json:"changed"`    // false: it was so before
	NotStored  string `json:"notStored,omitempty"`
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
	text, err := objectText(r)
	if err != nil {
		return configs.ClassText{}, err
	}
	doc, problems := configs.ReadClass(text, name, configs.Options{})
	if problems.HasErrors() {
		return configs.ClassText{}, unreadable(problems.Errors(), "class-", "priority class")
	}
	return doc, nil
}

// editClasses changes the classes in force.
func (s *service) editClasses(
	r *http.Request, c *priorities.Class, edit func(priorities.Registry) (priorities.Registry, error),
) (any, error) {
	res, err := s.edit(r, func(now *configs.Config, g *reload.Generation) ([]byte, error) {
		next, err := edit(now.Classes)
		if err != nil {
			return nil, classRefused(err)
		}
		return notEditable(s.opt.Reloads.EditClasses(g, next))
	})
	if err != nil {
		return nil, err
	}
	return changedClass{viewClass(c), res.Generation.Number, res.Changed, textOf(res.NotStored)}, nil
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
	return objectFailed(status, string(p.Reason), err.Error(), nil)
}
