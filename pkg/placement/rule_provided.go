package placement

import "strings"

// providedName returns the queue that the submission names (PLC-16). Only a name that begins with "root." is a path;
// plain root is a name like any other (PLC-13).
func providedName(_ *Rule, s Submission) (name string, qualified bool, reason string) {
	name = strings.TrimSpace(s.Queue)
	if name == "" {
		return "", false, "the application names no queue"
	}
	return name, isQualified(name), ""
}
