package placement

// fixedName is the rule's value, whose dots are levels. Only root and what begins with "root."
// is a path: upstream takes rootfoo for one, and panics (behaviour.md 7.3).
func (r *Rule) fixedName() (name string, qualified bool, reason string) {
	return r.Value, r.Value == Root || isQualified(r.Value), ""
}
