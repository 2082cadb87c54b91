package placement

// fixed is the rule's value, whose dots are levels. Only root and what begins with "root."
// is a path: upstream takes rootfoo for one, and panics (behaviour.md 7.3).
func (r *Rule) fixed() (name string, qualified bool, why string) {
	return r.Value, r.Value == Root || below(r.Value), ""
}
