package metrics

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/canopy-scheduler/canopy/internal/cpushare"
)

// family has the metrics of one name.
type family struct {
	name   string
	labels []string // the first one is the partition, if the values are of partitions
	kind   prometheus.ValueType
	help   string
}

func counter(name, help string, labels ...string) *family {
	return &family{name, labels, prometheus.CounterValue, help}
}

func gauge(name, help string, labels ...string) *family {
	return &family{name, labels, prometheus.GaugeValue, help}
}

// exposition is a scrape that is being written, in the text format of Prometheus 0.0.4. A large cluster
// has a hundred thousand values: they are written as text at once, without an object for each.
type exposition struct {
	sections map[string]*section
	slot     *cpushare.Slot // the slot of readers; may be nil
	sizes    map[string]int // bytes of the sections of the last scrape: initial capacities
}

// section is the text of one family.
type section struct {
	text   []byte
	format []int // the labels in the order in which they are written
}

func newExposition() *exposition { return &exposition{sections: map[string]*section{}} }

// sectionOf returns the section of a family, with its HELP and TYPE lines.
func (x *exposition) sectionOf(f *family) *section {
	s, ok := x.sections[f.name]
	if ok {
		return s
	}
	kind := "gauge"
	if f.kind == prometheus.CounterValue {
		kind = "counter"
	}
	head := "# HELP " + f.name + " " + escape(f.help, false) + "\n# TYPE " + f.name + " " + kind + "\n"
	last := x.sizes[f.name]
	s = &section{text: append(make([]byte, 0, max(len(head), last+last/16)), head...)}
	for i := range f.labels {
		s.format = append(s.format, i)
	}
	slices.SortFunc(s.format, func(a, b int) int { return strings.Compare(f.labels[a], f.labels[b]) })
	x.sections[f.name] = s
	return s
}

// flag writes 1 for true, and 0 for false.
func (x *exposition) flag(f *family, is bool) {
	n := 0.0
	if is {
		n = 1
	}
	x.value(f, n)
}

// value writes one value. labelValues are in the order of the labels of f.
func (x *exposition) value(f *family, value float64, labelValues ...string) {
	x.slot.Yield()
	s := x.sectionOf(f)
	t := append(s.text, f.name...)
	for i, label := range s.format {
		t = append(t, "{,"[min(i, 1)])
		t = append(t, f.labels[label]...)
		t = append(t, '=', '"')
		t = append(t, escape(labelValues[label], true)...)
		t = append(t, '"')
	}
	if len(s.format) > 0 {
		t = append(t, '}')
	}
	t = append(t, ' ')
	t = strconv.AppendFloat(t, value, 'g', -1, 64)
	s.text = append(t, '\n')
}

// add adds families of the client library.
func (x *exposition) add(families []*dto.MetricFamily) error {
	for _, f := range families {
		var b bytes.Buffer
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			return err
		}
		x.sections[f.GetName()] = &section{text: b.Bytes()}
	}
	return nil
}

// parts is the text of all families in name order.
func (x *exposition) parts() [][]byte {
	names := make([]string, 0, len(x.sections))
	for name := range x.sections {
		names = append(names, name)
	}
	slices.Sort(names)
	parts := make([][]byte, len(names))
	for i, name := range names {
		parts[i] = x.sections[name].text
	}
	return parts
}

// escape escapes a text for the format, which is UTF-8. A quote is escaped in label values only.
func escape(text string, value bool) string {
	if !strings.ContainsAny(text, "\\\n\"") && isASCII(text) {
		return text
	}
	text = strings.ToValidUTF8(text, "_") // names of resources may be any bytes
	text = strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(text)
	if value {
		text = strings.ReplaceAll(text, `"`, `\"`)
	}
	return text
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// partitionWriter writes values of one partition.
type partitionWriter struct {
	to        *exposition
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
