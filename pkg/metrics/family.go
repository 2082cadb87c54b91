package metrics

import (
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
)

// family has the name, the type and the labels of metrics.
type family struct {
	name   string
	labels []string // the first one is the partition, if the values are of partitions
	kind   dto.MetricType
	help   string
	order  []int // of the labels in a metric: by name
}

func counter(name, help string, labels ...string) *family {
	return newFamily(name, help, dto.MetricType_COUNTER, labels)
}

func gauge(name, help string, labels ...string) *family {
	return newFamily(name, help, dto.MetricType_GAUGE, labels)
}

func newFamily(name, help string, kind dto.MetricType, labels []string) *family {
	f := &family{name: name, labels: labels, kind: kind, help: help}
	for i := range labels {
		f.order = append(f.order, i)
	}
	slices.SortFunc(f.order, func(a, b int) int { return strings.Compare(labels[a], labels[b]) })
	return f
}

// gathering has the metrics of a scrape that is being made. They are not changed afterwards: encoders share them.
type gathering struct {
	families map[string]*dto.MetricFamily // by name
	labels   map[[2]string]*dto.LabelPair // by name and value: a large cluster has few for its many metrics
	slot     *cpushare.Slot               // the slot of readers; may be nil
}

func newGathering(slot *cpushare.Slot) *gathering {
	return &gathering{map[string]*dto.MetricFamily{}, map[[2]string]*dto.LabelPair{}, slot}
}

// flag writes 1 for true, and 0 for false.
func (g *gathering) flag(f *family, is bool) {
	n := 0.0
	if is {
		n = 1
	}
	g.value(f, n)
}

// value writes one value. labelValues are in the order of the labels of f.
func (g *gathering) value(f *family, value float64, labelValues ...string) {
	g.slot.Yield()
	to := g.families[f.name]
	if to == nil {
		to = &dto.MetricFamily{Name: &f.name, Help: proto.String(validText(f.help)), Type: &f.kind}
		g.families[f.name] = to
	}
	m := &dto.Metric{Label: make([]*dto.LabelPair, len(f.order))}
	for i, label := range f.order {
		m.Label[i] = g.label(f.labels[label], labelValues[label])
	}
	if f.kind == dto.MetricType_COUNTER {
		m.Counter = &dto.Counter{Value: &value}
	} else {
		m.Gauge = &dto.Gauge{Value: &value}
	}
	to.Metric = append(to.Metric, m)
}

// countsByLabel writes counts by the value of the only label of f.
func (g *gathering) countsByLabel(f *family, counts map[string]uint64) {
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		g.value(f, float64(counts[word]), word)
	}
}

// label returns the label of a name with a value, which is made once.
func (g *gathering) label(name, value string) *dto.LabelPair {
	pair := g.labels[[2]string{name, value}]
	if pair == nil {
		pair = &dto.LabelPair{Name: proto.String(name), Value: proto.String(validText(value))}
		g.labels[[2]string{name, value}] = pair
	}
	return pair
}

// validText returns text as UTF-8, which the formats are: names of resources may be any bytes.
func validText(text string) string { return strings.ToValidUTF8(text, "_") }

// partitionWriter writes values of one partition.
type partitionWriter struct {
	to        *gathering
	partition string
}

// value writes one value. labelValues are those after the partition.
func (t partitionWriter) value(f *family, value float64, labelValues ...string) {
	var buffer [4]string
	t.to.value(f, value, append(append(buffer[:0], t.partition), labelValues...)...)
}

func (t partitionWriter) count(f *family, n int, labelValues ...string) {
	t.value(f, float64(n), labelValues...)
}
