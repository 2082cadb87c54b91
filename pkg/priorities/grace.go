package priorities

import (
	"strconv"
	"time"
)

// GraceTag says how many seconds a piece of work has to end in, once it was told to. No shim of
// today sends it, so the name is ours, in the manner of what they do send.
const GraceTag = "kubernetes.io/meta/terminationGracePeriodSeconds"

// DefaultGrace is that of Kubernetes (priority.md S3-52).
const DefaultGrace = 30 * time.Second

// longestGrace is as many seconds as fit 32 bits: more is no time that anybody waits for.
const longestGrace = 1<<31 - 1

// GraceOf is what the tags of a piece of work say about it. What is no whole number of seconds from
// 0 on is as good as nothing. The resource manager sees to it; the core only says what it is.
func GraceOf(tags map[string]string) time.Duration {
	n, err := strconv.ParseUint(tags[GraceTag], 10, 64)
	if err != nil || n > longestGrace {
		return DefaultGrace
	}
	return time.Duration(n) * time.Second
}
