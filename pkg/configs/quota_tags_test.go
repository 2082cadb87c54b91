package configs

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func TestReadQuotaTags_Values(t *testing.T) {
	amounts := func(of string) string { return `{"resources":{` + of + `}}` }
	for _, tc := range []struct {
		name     string
		tags     map[string]string
		want     string // max, guaranteed, applications
		problems []string
	}{
		{name: "no tags", want: "- - 0"},
		{name: "other tags", tags: map[string]string{"namespace": "web"}, want: "- - 0"},
		{
			name: "all tags, in any case",
			tags: map[string]string{
				"Namespace.ResourceQuota": amounts(`"memory":{"value":123},"vcore":{"value":0}`),
				TagGuaranteed:             amounts(`"vcore":{"value":7}`), "NAMESPACE.RESOURCEMAXAPPS": " 3 ",
			},
			want: "≤{memory=123 vcore=0} ≥{vcore=7} 3",
		},
		{name: "quotas without a tag are not set", tags: map[string]string{TagMax: amounts(`"x":{"value":1}`)},
			want: "≤{x=1} - 0"},
		{
			name: "of two tags that differ in case the first in string order counts",
			tags: map[string]string{TagMaxApplications: "1", "NAMESPACE.resourcemaxapps": "2"}, want: "- - 2",
		},
		{name: "a zero value may be missing", tags: map[string]string{TagMax: amounts(`"x":{"value":1},"y":{}`)},
			want: "≤{x=1 y=0} - 0"},
		{name: "a number may be a text, as in the JSON of protobuf",
			tags: map[string]string{TagMax: amounts(`"x":{"value":"9"}`)}, want: "≤{x=9} - 0"},
		{name: "zero applications means any number", tags: map[string]string{TagMaxApplications: "0"}, want: "- - 0"},
		{
			name: "a malformed tag does not affect the others", want: "- ≥{x=1} 0",
			tags: map[string]string{TagMax: "{", TagGuaranteed: amounts(`"x":{"value":1}`), TagMaxApplications: "-1"},
			problems: []string{
				`tag namespace.resourcequota: "{" is not a resource in JSON: unexpected end of JSON input`,
				`tag namespace.resourcemaxapps: "-1" is not a number of applications`,
			},
		},
		{
			name: "zeroes", tags: map[string]string{TagMax: amounts(`"x":{"value":0}`), TagGuaranteed: "{}"}, want: "- - 0",
			problems: []string{"tag namespace.resourcequota: nothing in it is above zero",
				"tag namespace.resourceguaranteed: nothing in it is above zero"},
		},
		{
			name: "negative", tags: map[string]string{TagMax: amounts(`"x":{"value":1},"y":{"value":-2}`)}, want: "- - 0",
			problems: []string{"tag namespace.resourcequota: -2 of resource y is negative"},
		},
		{
			name: "too large", tags: map[string]string{TagMax: amounts(`"x":{"value":9223372036854775808}`)}, want: "- - 0",
			problems: []string{"tag namespace.resourcequota: 9223372036854775808 " +
				"of resource x is not a whole number of 64 bits"},
		},
		{
			name: "a fraction", tags: map[string]string{TagMax: amounts(`"x":{"value":1.5}`)}, want: "- - 0",
			problems: []string{"tag namespace.resourcequota: 1.5 of resource x is not a whole number of 64 bits"},
		},
		{
			name: "a resource without a name", tags: map[string]string{TagMax: amounts(`"":{"value":1}`)}, want: "- - 0",
			problems: []string{"tag namespace.resourcequota: a resource name has 0 bytes, 1 to 1024 are allowed"},
		},
		{
			name: "empty, and long",
			tags: map[string]string{TagMax: "", TagGuaranteed: strings.Repeat("x", 70_000),
				TagMaxApplications: strings.Repeat("ü", 100)},
			want: "- - 0",
			problems: []string{
				`tag namespace.resourcequota: "" is not a resource in JSON: unexpected end of JSON input`,
				"tag namespace.resourceguaranteed: it has 70000 bytes, at most 65536 are allowed",
				`tag namespace.resourcemaxapps: "` + strings.Repeat("ü", 32) + `..." is not a number of applications`,
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q, problems := ReadQuotaTags(tc.tags)
			max, guaranteed := "-", "-"
			if q.Max != nil {
				max = q.Max.String()
			}
			if q.Guaranteed != nil {
				guaranteed = q.Guaranteed.String()
			}
			assert.Equal(t, fmt.Sprint(max, " ", guaranteed, " ", q.MaxApplications), tc.want)
			var messages []string
			for _, p := range problems {
				messages = append(messages, p.Error())
			}
			assert.DeepEqual(t, messages, tc.problems)
		})
	}
}

func TestReadQuotaTags_BoundsResourceNames(t *testing.T) {
	var b strings.Builder
	for i := range resources.MaxNames + 1 {
		fmt.Fprintf(&b, `"r%d":{"value":1},`, i)
	}
	_, problems := ReadQuotaTags(map[string]string{TagMax: `{"resources":{` + strings.TrimSuffix(b.String(), ",") + `}}`})
	assert.Equal(t, len(problems), 1)
	assert.Error(t, problems[0], "tag namespace.resourcequota: it names 257 resources, at most 256 are allowed")
}

func FuzzReadQuotaTags(f *testing.F) {
	f.Add(`{"resources":{"memory":{"value":123}}}`, "3")
	f.Add(`{"resources":{"memory":null}}`, "x")
	f.Fuzz(func(t *testing.T, resource, number string) {
		q, problems := ReadQuotaTags(map[string]string{TagMax: resource, TagMaxApplications: number})
		if q.Max != nil {
			sum := int64(0)
			for name, n := range q.Max.All() {
				assert.Assert(t, n >= 0 && name != "")
				sum |= int64(n)
			}
			assert.Assert(t, sum > 0)
		}
		assert.Assert(t, len(problems) <= 2 && (q.Max != nil || len(problems) > 0))
	})
}
