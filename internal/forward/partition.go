package forward

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// The place of a partition in a URL: PATH/partition/NAME/PATH?partition=NAME.
const (
	partitionSegment   = "partition"
	partitionParameter = "partition"
)

// partitionOfCall is the partition that the metadata of a call names (HAF-1). Empty: none.
func partitionOfCall(r *http.Request) (string, error) {
	values := r.Header[PartitionHeader]
	if len(values) > 1 {
		return "", fmt.Errorf("%s is there %d times: a call is for one partition", strings.ToLower(PartitionHeader), len(values))
	}
	return strings.Join(values, ""), nil
}

// partitionOfRequest is the partition that a request of HTTP names in its header, its path or its query (HAF-1). Empty: none.
func partitionOfRequest(r *http.Request) (string, error) {
	name, err := partitionOfCall(r)
	if err != nil {
		return "", err
	}
	inPath, err := partitionOfPath(r.URL.EscapedPath())
	if err != nil {
		return "", err
	}
	inQuery := r.URL.Query()[partitionParameter]
	if len(inQuery) > 1 {
		return "", fmt.Errorf("the parameter %s is there %d times: a request is for one partition", partitionParameter, len(inQuery))
	}
	for _, other := range append(inQuery, inPath) {
		switch {
		case name == "":
			name = other
		case other != "" && other != name:
			return "", fmt.Errorf("the request names the partitions %s and %s: it is for one", quoted(name), quoted(other))
		}
	}
	return name, nil
}

// partitionOfPath is the first segment after one that is "partition": what follows may be names of queues and users, which may be any.
func partitionOfPath(escaped string) (string, error) {
	segments := strings.Split(escaped, "/")
	for i, s := range segments[:len(segments)-1] {
		if s != partitionSegment {
			continue
		}
		name, err := url.PathUnescape(segments[i+1])
		if err != nil {
			return "", fmt.Errorf("the name of a partition in the path: %w", err)
		}
		return name, nil
	}
	return "", nil
}

// quoted is a name of a client in a text: bounded, and without control characters.
func quoted(name string) string {
	const most = 100
	if len(name) > most {
		name = name[:most] + "..."
	}
	return fmt.Sprintf("%q", name)
}
