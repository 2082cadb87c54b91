package excerpt

import (
	"reflect"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/internal/server/recording"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// simplifyConfigs leaves out queues, and settings of those that are left, in all configurations of the excerpt alike.
func (s *shortening) simplifyConfigs() {
	reduce(s.best.queues(), func(kept []string) bool {
		is := map[string]bool{}
		for _, path := range kept {
			is[path] = true
		}
		return s.edit(func(p *configs.Partition) { prune(&p.Root, "", is) })
	})
	for _, name := range fieldsOf[configs.Partition]("Name", "Root") {
		s.edit(func(p *configs.Partition) { reflect.ValueOf(p).Elem().FieldByName(name).SetZero() })
	}
	for _, path := range append([]string{""}, s.best.queues()...) {
		clear := func(field func(*configs.Queue) reflect.Value) {
			s.edit(func(p *configs.Partition) {
				if q := find(&p.Root, path); q != nil {
					field(q).SetZero()
				}
			})
		}
		for _, name := range fieldsOf[configs.Queue]("Name", "Parent", "Children") {
			clear(func(q *configs.Queue) reflect.Value { return reflect.ValueOf(q).Elem().FieldByName(name) })
		}
		for _, name := range fieldsOf[configs.Settings]() {
			clear(func(q *configs.Queue) reflect.Value { return reflect.ValueOf(&q.Settings).Elem().FieldByName(name) })
		}
	}
}

// fieldsOf are the names of the fields of a struct.
func fieldsOf[T any](except ...string) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if !slices.Contains(except, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// prune leaves out the queues below q, which has a path, that are not to be kept.
func prune(q *configs.Queue, path string, kept map[string]bool) {
	q.Children = slices.DeleteFunc(q.Children, func(c configs.Queue) bool { return !kept[path+"."+c.Name] })
	for i := range q.Children {
		prune(&q.Children[i], path+"."+q.Children[i].Name, kept)
	}
}

// find is the queue with a path below q, as queues has it; q for an empty one; nil: there is none.
func find(q *configs.Queue, path string) *configs.Queue {
	for path != "" {
		name, rest, _ := strings.Cut(path[1:], ".")
		i := slices.IndexFunc(q.Children, func(c configs.Queue) bool { return c.Name == name })
		if i < 0 {
			return nil
		}
		q, path = &q.Children[i], ""
		if rest != "" {
			path = "." + rest
		}
	}
	return q
}

// edit tries the excerpt with changed configurations. What changes nothing is not tried.
func (s *shortening) edit(change func(*configs.Partition)) bool {
	e := s.best.clone()
	begin, err := recording.DecodeBegin(e.begin)
	if err != nil {
		return false
	}
	change(&begin.Partition)
	changed := recording.EncodeBegin(begin)
	different := !slices.Equal(changed, e.begin)
	e.begin = changed
	for i := range e.steps {
		x, err := e.steps[i].step()
		if err != nil {
			return false
		}
		if m, ok := x.Command.(scheduler.UseConfig); ok {
			change(&m.Partition)
			changed := recording.EncodeCommand(m)
			different = different || !slices.Equal(changed, e.steps[i].command)
			e.steps[i].command = changed
		}
	}
	return different && s.try(e)
}

// queues are the paths of the queues of the configurations below the root: a.b.
func (e *Excerpt) queues() (paths []string) {
	seen := map[string]bool{}
	var walk func(q *configs.Queue, path string)
	walk = func(q *configs.Queue, path string) {
		for i := range q.Children {
			child := path + "." + q.Children[i].Name
			if !seen[child] {
				seen[child] = true
				paths = append(paths, child)
			}
			walk(&q.Children[i], child)
		}
	}
	if begin, err := recording.DecodeBegin(e.begin); err == nil {
		walk(&begin.Partition.Root, "")
	}
	for i := range e.steps {
		if x, err := e.steps[i].step(); err == nil {
			if m, ok := x.Command.(scheduler.UseConfig); ok {
				walk(&m.Partition.Root, "")
			}
		}
	}
	return paths
}
