package priorities

import (
	"strconv"
	"time"
)

// GracePeriodTag says how many seconds a piece of work has to end in, once it was told to. No shim of
// today sends it, so the name is ours, in the manner of what they do send.
const GracePeriodTag = "kubernetes.io/meta/terminationGracePeriodSeconds"

// DefaultGracePeriod is that of Kubernetes (priority.md S3-52).
const DefaultGracePeriod = 30 * time.Second

// maxGraceSeconds is as many seconds as fit 32 bits: more is no time that anybody waits for.
const maxGraceSeconds = 1<<31 - 1

// GracePeriodOf is what the tags of a piece of work say about it. What is no whole number of seconds from
// 0 on is as good as nothing. The resource manager sees to it; the core only says what it is.
func GracePeriodOf(tags map[string]string) time.Duration {
	n, err := strconv.ParseUint(tags[GracePeriodTag], 10, 64)
	if err != nil || n > maxGraceSeconds {
		return DefaultGracePeriod
	}
	return time.Duration(n) * time.Second
}
