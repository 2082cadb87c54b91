package placement

// userName is the name of the user, never a path (behaviour.md 7.3).
func userName(s Submission) (name string, qualified bool, reason string) {
	if s.User.Name == "" {
		return "", false, "the application has no user"
	}
	return s.User.Name, false, ""
}
