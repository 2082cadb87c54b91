// Package names knows what Kubernetes takes for the name of an object, of a namespace and of
// a label. Names of queues, users and resources have rules of their own, where they belong.
//
// The rule that must hold: what is a name there is one here, and the other way round.
package names

import (
	"fmt"
	"regexp"
	"strings"
)

// The longest names there are, in bytes.
const (
	MaxSubdomain = 253 // of an object
	MaxLabel     = 63  // of a namespace, of a label's name and of its value
)

var (
	// subdomain is RFC 1123's, as Kubernetes reads it: parts have no length of their own.
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	dnsLabel  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	labelText = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
)

// SubdomainProblem says why s is not the name of an object, a DNS subdomain of RFC 1123; empty: it
// is. Who is meant goes in front: "the name", say.
func SubdomainProblem(s string) string {
	switch {
	case len(s) > MaxSubdomain:
		return tooLong(s, MaxSubdomain)
	case !subdomain.MatchString(s):
		return "must be lower-case letters, digits, - and ., each part beginning and ending with a letter or digit"
	}
	return ""
}

// NamespaceProblem says why s is not the name of a namespace, a DNS label; empty: it is.
func NamespaceProblem(s string) string {
	switch {
	case len(s) > MaxLabel:
		return tooLong(s, MaxLabel)
	case !dnsLabel.MatchString(s):
		return "must be lower-case letters, digits and -, beginning and ending with a letter or digit"
	}
	return ""
}

// LabelKeyProblem says why s is not the key of a label, a name with perhaps a subdomain and a
// slash in front; empty: it is.
func LabelKeyProblem(s string) string {
	prefix, name, long := strings.Cut(s, "/")
	if !long {
		prefix, name = "", s
	}
	switch {
	case long && SubdomainProblem(prefix) != "":
		return "must have a DNS subdomain before the /"
	case name == "":
		return "must have a name"
	}
	return LabelValueProblem(name)
}

// LabelValueProblem says why s is not the value of a label, which may be empty; empty: it is.
func LabelValueProblem(s string) string {
	switch {
	case len(s) > MaxLabel:
		return tooLong(s, MaxLabel)
	case s != "" && !labelText.MatchString(s):
		return "must be letters, digits, -, _ and ., beginning and ending with a letter or digit"
	}
	return ""
}

func tooLong(s string, most int) string {
	return fmt.Sprintf("has %d characters, at most %d are allowed", len(s), most)
}

// Quote shows a name, shortened when it is longer than any.
func Quote(s string) string {
	if len(s) > MaxSubdomain {
		return fmt.Sprintf("%.*q...", MaxSubdomain, s)
	}
	return fmt.Sprintf("%q", s)
}
