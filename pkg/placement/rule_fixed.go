package placement

// fixedName returns the value of the rule, whose dots are levels (PLC-18). Only root and a value that begins with
// "root." is a path: YuniKorn takes rootfoo for one, and panics.
func (r *Rule) fixedName(Submission) (name string, qualified bool, reason string) {
	return r.Value, r.Value == Root || isQualified(r.Value), ""
}
