package queuesyaml

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/refusals"
)

func TestLoad_NodeRefusal(t *testing.T) {
	for text, want := range map[string]refusals.Settings{
		"{}":                                     {Backoff: 10 * time.Second, MaxBackoff: 5 * time.Minute, Asks: 3},
		"{backoff: 0s}":                          {MaxBackoff: 5 * time.Minute, Asks: 3},
		"{backoff: 10m}":                         {Backoff: 10 * time.Minute, MaxBackoff: 10 * time.Minute, Asks: 3},
		"{backoff: 2s, maxbackoff: 2s, asks: 1}": {Backoff: 2 * time.Second, MaxBackoff: 2 * time.Second, Asks: 1},
	} {
		conf, problems := Load([]byte("partitions: [{name: default, noderefusal: " + text + ", queues: [{name: root, " +
			"submitacl: '*'}]}]"))
		assert.Equal(t, len(problems), 0, text)
		assert.Equal(t, conf.Partitions[0].NodeRefusal, want, text)
	}
	for _, text := range []string{"{backoff: 10s, maxbackoff: 5s}", "{maxbackoff: 25h}", "{backoff: 25h}",
		"{maxbackoff: 0s}", "{asks: 1001}"} {
		_, problems := Load([]byte("partitions: [{name: default, noderefusal: " + text + ", queues: [{name: root, " +
			"submitacl: '*'}]}]"))
		assert.Equal(t, len(problems), 1, text)
		assert.Assert(t, strings.Contains(problems[0].String(), "from"), problems[0].String())
	}
}
