package forward

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestPartition_OfRequests(t *testing.T) {
	for _, c := range []struct {
		target  string
		headers []string
		want    string
		err     string
	}{
		{target: "/"},
		{target: "/ws/v1/partitions"},
		{target: "/ws/v1/partition"},
		{target: "/ws/v1/partition/"},
		{target: "/ws/v1/partition/default", want: "default"},
		{target: "/ws/v1/partition/default/queue/partition/application/partition/x", want: "default"},
		{target: "/ws/v1/partition/a%2Fb%20c/queues", want: "a/b c"},
		{target: "/ws/v1/Partition/a"},
		{target: "/ws/v1/x%2Fpartition/a"},
		{target: "/ws/v1/events?partition=a", want: "a"},
		{target: "/ws/v1/events?partition=a%2Fb&x=1", want: "a/b"},
		{target: "/ws/v1/events?partition=&x=1"},
		{target: "/ws/v1/events?partition=a&partition=a", err: "2 times"},
		{target: "/ws/v1/partition/a?partition=a", want: "a"},
		{target: "/ws/v1/partition/a?partition=b", err: `"b" and "a"`},
		{target: "/", headers: []string{"a"}, want: "a"},
		{target: "/", headers: []string{""}},
		{target: "/", headers: []string{"a", "a"}, err: "2 times"},
		{target: "/", headers: []string{"a", "b"}, err: "2 times"},
		{target: "/ws/v1/partition/a?partition=a", headers: []string{"a"}, want: "a"},
		{target: "/ws/v1/partition/a", headers: []string{"b"}, err: `"b" and "a"`},
		{target: "/?partition=a", headers: []string{"b"}, err: `"b" and "a"`},
		{target: "/partition/" + strings.Repeat("a", 1000), headers: []string{"b"}, err: "..."},
	} {
		u, err := url.Parse(c.target)
		assert.NilError(t, err)
		r := &http.Request{URL: u, Header: http.Header{}}
		for _, value := range c.headers {
			r.Header.Add("cAnOpY-pArTiTiOn", value)
		}
		got, err := partitionOfRequest(r)
		if c.err != "" {
			assert.ErrorContains(t, err, c.err, c.target)
			assert.Assert(t, len(err.Error()) < 400)
			continue
		}
		assert.NilError(t, err, c.target)
		assert.Equal(t, got, c.want, c.target)
		if len(c.headers) > 0 {
			got, err := partitionOfCall(r)
			assert.NilError(t, err)
			assert.Equal(t, got, c.headers[0])
		}
	}
}

// Each of the places may name the partition; where two do, they agree.
func FuzzPartitionOfRequest(f *testing.F) {
	f.Add("/ws/v1/partition/a/queues", "partition=a", "a")
	f.Add("/partition/%zz", "partition=%zz", "")
	f.Add("partition/a", ";partition=b", "a\xff")
	f.Add("/partition//partition/b", "partition", "\x00")
	f.Fuzz(func(t *testing.T, path, query, header string) {
		r := &http.Request{URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{}}
		if p, err := url.PathUnescape(path); err == nil {
			r.URL.Path, r.URL.RawPath = p, path
		}
		if header != "" {
			r.Header.Set(PartitionHeader, header)
		}
		got, err := partitionOfRequest(r)
		if err != nil {
			assert.Equal(t, got, "")
			return
		}
		if header != "" {
			assert.Equal(t, got, header)
		}
		if in := r.URL.Query().Get("partition"); in != "" {
			assert.Equal(t, got, in)
		}
		// A name that is found is found again in each of the places.
		if got != "" {
			again := &http.Request{URL: &url.URL{RawQuery: url.Values{"partition": {got}}.Encode()}, Header: http.Header{PartitionHeader: {got}}}
			again.URL.Path, again.URL.RawPath = "/x/partition/"+got+"/y", "/x/partition/"+url.PathEscape(got)+"/y"
			found, err := partitionOfRequest(again)
			assert.NilError(t, err)
			assert.Equal(t, found, got)
		}
	})
}

func TestPercentEncoded_IsPrintableASCII(t *testing.T) {
	for text, want := range map[string]string{"": "", "a b~": "a b~", "100 %": "100 %25", "ü\n\x7f": "%C3%BC%0A%7F"} {
		assert.Equal(t, percentEncoded(text), want)
	}
}
