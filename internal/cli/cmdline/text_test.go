package cmdline

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

func TestReport_FormatsNumbersAndAmounts(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123",
	} {
		assert.Equal(t, WithThousands(n), want)
	}
	got := AmountText(map[string]resources.Quantity{"pods": 3, "vcore": 1500, "memory": 5 << 29, "nvidia.com/gpu": 2000})
	assert.Equal(t, got, "1.5 vcore, 2.5 GiB, 2 GPU, 3 pods")
	assert.Equal(t, AmountText(map[string]resources.Quantity{"pods": 1, "nvidia.com/gpu": 1000}), "1 GPU, 1 pod")
	assert.Equal(t, AmountText(nil), "-")
	for _, want := range []string{"0 nodes accepted", "1 node accepted", "1,000 nodes accepted"} {
		number, _, _ := strings.Cut(want, " ")
		assert.Equal(t, Counted(number, "nodes accepted"), want)
	}
	assert.Equal(t, Counted("1", "GPUs"), "1 GPU")
	assert.Equal(t, Counted("0.1", "GPUs"), "0.1 GPUs")
}

func TestProgress_TerminalLine(t *testing.T) {
	var out strings.Builder
	p := Progress{out: &out, terminal: true}
	p.Count("asks submitted", 1, 3)
	p.last = p.last.Add(time.Hour)
	p.Count("asks submitted", 2, 3) // too soon to be drawn
	p.Count("asks submitted", 3, 3)
	p.End()
	p.End()
	assert.Equal(t, out.String(), "\r1 of 3 asks submitted\x1b[K\r3 asks submitted\x1b[K\n")
	out.Reset()
	p.Count("tasks placed", 1, 1)
	assert.Equal(t, out.String(), "\r1 task placed\x1b[K")
}
