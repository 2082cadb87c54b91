package objects

// indexedList is a list of objects in no order, each of which has its index on it. Iteration from
// the end, even in steps between which the list changes, misses no object that stays: a removed
// object is Replaced by the last.
type indexedList[T any] struct {
	all   []*T
	index func(*T) *int32
}

func (l *indexedList[T]) add(x *T) {
	*l.index(x) = int32(len(l.all))
	l.all = append(l.all, x)
}

// remove removes x. Requires: it is on the list.
func (l *indexedList[T]) remove(x *T) {
	i, end := *l.index(x), len(l.all)-1
	if l.all[i] != x {
		panic("objects: an object is not on its list")
	}
	last := l.all[end]
	l.all[i], *l.index(last), l.all[end] = last, i, nil
	l.all = l.all[:end]
}

// has reports whether x is on the list.
func (l *indexedList[T]) has(x *T) bool {
	i := int(*l.index(x))
	return i < len(l.all) && l.all[i] == x
}
