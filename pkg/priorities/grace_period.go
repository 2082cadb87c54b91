package priorities

import (
	"strconv"
	"time"
)

// GracePeriodTag is the tag of an ask with the seconds that it has to end after its release. No shim sends it
// yet; the name follows the tags that shims send.
const GracePeriodTag = "kubernetes.io/meta/terminationGracePeriodSeconds"

// DefaultGracePeriod is the default of Kubernetes (PRE-86).
const DefaultGracePeriod = 30 * time.Second

// maxGraceSeconds is the largest grace period: larger values are malformed.
const maxGraceSeconds = 1<<31 - 1

// GracePeriodOf returns the grace period in the tags of an ask; a missing or malformed value is DefaultGracePeriod
// (PRE-86). The resource manager enforces it, the core only reports it.
func GracePeriodOf(tags map[string]string) time.Duration {
	text, given := tags[GracePeriodTag]
	if !given {
		return DefaultGracePeriod
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > maxGraceSeconds {
		return DefaultGracePeriod
	}
	return time.Duration(n) * time.Second
}
