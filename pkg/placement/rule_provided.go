package placement

import "strings"

// provided is the queue that the submission names. Only what begins with "root." is a
// path; plain root is a name like any other (behaviour.md 7.3).
func provided(s Submission) (name string, qualified bool, why string) {
	if name = strings.TrimSpace(s.Queue); name == "" {
		return "", false, "the application names no queue"
	}
	return name, below(name), ""
}
