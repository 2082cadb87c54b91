package twin

import (
	"fmt"
	"reflect"

	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/persistent"
	"github.com/canopy-scheduler/canopy/pkg/quota"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// plainSnapshot is a snapshot with slices as lists: two snapshots of equal state are deeply equal,
// however their lists share memory.
type plainSnapshot struct {
	scheduler.Snapshot // its lists are empty
	Root               plainQueue
	Nodes              []plainNode
	Completed          []lifecycle.Ended
	Rejected           []lifecycle.Ended
}

type plainQueue struct {
	scheduler.QueueView
	Limits       []quota.LimitUsage
	Used         [][]quota.ClassUse
	Children     []plainQueue
	Applications []plainApplication
}

type plainApplication struct {
	scheduler.ApplicationView
	Work []scheduler.AllocationView
}

type plainNode struct {
	scheduler.NodeView
	Work []scheduler.AllocationView
}

func plainSnapshotOf(s *scheduler.Snapshot) plainSnapshot {
	v := plainSnapshot{
		Snapshot: *s, Root: plainQueueOf(s.Root), Completed: values(s.Completed), Rejected: values(s.Rejected),
	}
	for n := range s.Nodes.All() {
		node := plainNode{*n, values(n.Allocations)}
		node.NodeView.Allocations = persistent.List[scheduler.AllocationView]{}
		v.Nodes = append(v.Nodes, node)
	}
	none := persistent.List[lifecycle.Ended]{}
	v.Snapshot.Root, v.Snapshot.Nodes = nil, persistent.List[scheduler.NodeView]{}
	v.Snapshot.Completed, v.Snapshot.Rejected = none, none
	return v
}

func plainQueueOf(q *scheduler.QueueView) plainQueue {
	v := plainQueue{QueueView: *q, Limits: values(q.Limits)}
	for child := range q.Children.All() {
		v.Children = append(v.Children, plainQueueOf(child))
	}
	for a := range q.Applications.All() {
		app := plainApplication{*a, values(a.Allocations)}
		app.ApplicationView.Allocations = persistent.List[scheduler.AllocationView]{}
		v.Applications = append(v.Applications, app)
	}
	v.QueueView.ClassQuotas = append([]quota.ClassQuota(nil), q.ClassQuotas...)
	for i := range v.QueueView.ClassQuotas {
		v.Used = append(v.Used, values(q.ClassQuotas[i].Used))
		v.QueueView.ClassQuotas[i].Used = persistent.List[quota.ClassUse]{}
	}
	v.QueueView.Limits = persistent.List[quota.LimitUsage]{}
	v.QueueView.Children = persistent.List[scheduler.QueueView]{}
	v.QueueView.Applications = persistent.List[scheduler.ApplicationView]{}
	return v
}

func values[T any](l persistent.List[T]) []T {
	out := make([]T, 0, l.Len())
	for x := range l.All() {
		out = append(out, *x)
	}
	return out
}

// SnapshotDifference returns the first difference between two snapshots; empty: they are equal.
func SnapshotDifference(got, want *scheduler.Snapshot) string {
	if a, b := plainSnapshotOf(got), plainSnapshotOf(want); !reflect.DeepEqual(a, b) {
		return firstUnequal("snapshot", reflect.ValueOf(a), reflect.ValueOf(b))
	}
	return ""
}

// firstUnequal returns the first place where two values of a type differ.
func firstUnequal(at string, a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !equalText(a.Field(i), b.Field(i)) {
				return firstUnequal(at+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
			}
		}
	case reflect.Slice:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s: %d, and should be %d", at, a.Len(), b.Len())
		}
		for i := range a.Len() {
			if !equalText(a.Index(i), b.Index(i)) {
				return firstUnequal(fmt.Sprintf("%s[%d]", at, i), a.Index(i), b.Index(i))
			}
		}
	}
	return fmt.Sprintf("%s: %+v, and should be %+v", at, a, b)
}

func equalText(a, b reflect.Value) bool { return fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b) }
