package twin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// SnapshotDifference returns the first difference between two snapshots; empty: they are equal.
func SnapshotDifference(got, want *scheduler.Snapshot) string {
	return firstUnequal(reflect.ValueOf(got), reflect.ValueOf(want))
}

// firstUnequal returns the first place where two values of a type differ, with both values; empty: they are deeply
// equal. Persistent lists are compared item by item, however they are divided into pages.
func firstUnequal(a, b reflect.Value) string {
	if !holdsList(a.Type()) || a.Kind() == reflect.Pointer && (a.IsNil() || b.IsNil()) {
		if reflect.DeepEqual(a.Interface(), b.Interface()) {
			return ""
		}
		return fmt.Sprintf(": %+v, and should be %+v", a, b)
	}
	switch {
	case a.Kind() == reflect.Pointer:
		return firstUnequal(a.Elem(), b.Elem())
	case a.Kind() == reflect.Struct && !isList(a.Type()):
		for i := range a.NumField() {
			if difference := firstUnequal(a.Field(i), b.Field(i)); difference != "" {
				return "." + a.Type().Field(i).Name + difference
			}
		}
		return ""
	}
	as, bs := itemsOf(a), itemsOf(b)
	if len(as) != len(bs) {
		return fmt.Sprintf(": %d, and should be %d", len(as), len(bs))
	}
	for i := range as {
		if difference := firstUnequal(as[i], bs[i]); difference != "" {
			return fmt.Sprintf("[%d]%s", i, difference)
		}
	}
	return ""
}

// itemsOf returns the items of a slice or of a persistent list.
func itemsOf(v reflect.Value) (items []reflect.Value) {
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			items = append(items, v.Index(i))
		}
		return items
	}
	for item := range v.MethodByName("All").Call(nil)[0].Seq() {
		items = append(items, item)
	}
	return items
}

func isList(t reflect.Type) bool { return strings.HasPrefix(t.Name(), "List[") }

// holdsList reports whether values of a type are, have or point to persistent lists. A list in a type that is not named
// here shows as a difference.
func holdsList(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		return holdsList(t.Elem())
	}
	views := []string{"Snapshot", "QueueView", "ApplicationView", "NodeView", "ClassQuota"}
	return isList(t) || slices.Contains(views, t.Name())
}
