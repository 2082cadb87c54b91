// Package names checks names of Kubernetes objects, namespaces and labels. Names of queues, users and resources
// have other rules, which are in their packages.
//
// The invariant: a name is legal here if and only if Kubernetes accepts it.
package names

import (
	"fmt"
	"regexp"
	"strings"
)

// The maximum length of names, in bytes.
const (
	MaxSubdomain = 253 // of an object
	MaxLabel     = 63  // of a namespace, of the name part of a label key, and of a label value
)

var (
	// subdomain is a subdomain of RFC 1123 as in Kubernetes: the length of its labels is not bounded.
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	dnsLabel  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	labelText = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
)

// SubdomainProblem returns why s is no name of an object, a DNS subdomain of RFC 1123; empty: it is one. The text is a
// predicate: the caller puts the subject in front, such as "the name".
func SubdomainProblem(s string) string {
	switch {
	case len(s) > MaxSubdomain:
		return tooLong(s, MaxSubdomain)
	case !subdomain.MatchString(s):
		return "must be lower-case letters, digits, - and ., each part beginning and ending with a letter or digit"
	}
	return ""
}

// NamespaceProblem returns why s is no name of a namespace, a DNS label; empty: it is one.
func NamespaceProblem(s string) string {
	switch {
	case len(s) > MaxLabel:
		return tooLong(s, MaxLabel)
	case !dnsLabel.MatchString(s):
		return "must be lower-case letters, digits and -, beginning and ending with a letter or digit"
	}
	return ""
}

// LabelKeyProblem returns why s is no label key, a name with an optional DNS subdomain and slash in front; empty: it
// is one.
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

// LabelValueProblem returns why s is no label value; empty: it is one. A value may be empty.
func LabelValueProblem(s string) string {
	switch {
	case len(s) > MaxLabel:
		return tooLong(s, MaxLabel)
	case s != "" && !labelText.MatchString(s):
		return "must be letters, digits, -, _ and ., beginning and ending with a letter or digit"
	}
	return ""
}

func tooLong(s string, limit int) string {
	return fmt.Sprintf("has %d characters, at most %d are allowed", len(s), limit)
}
