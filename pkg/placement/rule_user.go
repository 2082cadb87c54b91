package placement

// userName is the name of the user, never a path (PLC-17).
func userName(_ *Rule, s Submission) (name string, qualified bool, reason string) {
	if s.User.Name == "" {
		return "", false, "the application has no user"
	}
	return s.User.Name, false, ""
}
