package queuesyaml

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// manyQueues is a document with a number of queues below root, in chains of a number of levels.
// Leaves have usual settings.
func manyQueues(queues, levels int) []byte {
	var b strings.Builder
	b.WriteString(rootHead[1:] + "    queues:\n")
	for i := range queues {
		level := i % levels
		indent := strings.Repeat(" ", 2*level+4)
		fmt.Fprintf(&b, "%s- name: q%d\n", indent, i)
		if level < levels-1 && i < queues-1 {
			fmt.Fprintf(&b, "%s  properties: {application.sort.policy: fifo}\n%s  queues:\n", indent, indent)
			continue
		}
		fmt.Fprintf(&b, "%s  resources: {max: {vcore: 10}}\n%s  submitacl: ann dev\n", indent, indent)
		fmt.Fprintf(&b, "%s  limits: [{users: [ann], maxapplications: 5}]\n", indent)
	}
	return []byte(b.String())
}

// BenchmarkLoad shows that the cost of a document follows its length, whether the tree is wide
// or deep. The target for 10,000 queues is one second.
func BenchmarkLoad(b *testing.B) {
	for _, queues := range []int{10_000, 99_999} {
		for _, levels := range []int{1, 10, 60} {
			text := manyQueues(queues, levels)
			b.Run(fmt.Sprintf("queues=%d/levels=%d", queues, levels), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					c, problems := LoadWith(text, Options{MaxBytes: 1 << 30})
					assert.Assert(b, c != nil, problems)
				}
			})
		}
	}
}
