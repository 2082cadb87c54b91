package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// family is the metrics of one name.
type family struct {
	name   string
	labels []string // the first is always the partition, if there are any
	kind   prometheus.ValueType
	desc   *prometheus.Desc
}

func counter(name, help string, labels ...string) *family {
	return newFamily(prometheus.CounterValue, name, help, labels)
}

func gauge(name, help string, labels ...string) *family {
	return newFamily(prometheus.GaugeValue, name, help, labels)
}

func newFamily(kind prometheus.ValueType, name, help string, labels []string) *family {
	return &family{name, labels, kind, prometheus.NewDesc(name, help, labels, nil)}
}

// teller says values of one partition.
type teller struct {
	to        chan<- prometheus.Metric
	partition string
}

// say tells one value. words are those of the labels after the partition.
func (t teller) say(f *family, value float64, words ...string) {
	values := make([]string, 0, 1+len(words))
	values = append(values, t.partition)
	for _, w := range words {
		values = append(values, strings.ToValidUTF8(w, "_")) // names of resources are the RM's
	}
	t.to <- prometheus.MustNewConstMetric(f.desc, f.kind, value, values...)
}

func (t teller) count(f *family, n int, words ...string) { t.say(f, float64(n), words...) }
