package metrics

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
)

// family has the metrics of one name.
type family struct {
	name   string
	labels []string // the first one is the partition, if the values are of partitions
	kind   prometheus.ValueType
	help   string
	order  []int // of the labels in the text: by name
}

func counter(name, help string, labels ...string) *family {
	return newFamily(name, help, prometheus.CounterValue, labels)
}

func gauge(name, help string, labels ...string) *family {
	return newFamily(name, help, prometheus.GaugeValue, labels)
}

func newFamily(name, help string, kind prometheus.ValueType, labels []string) *family {
	f := &family{name: name, labels: labels, kind: kind, help: help}
	for i := range labels {
		f.order = append(f.order, i)
	}
	slices.SortFunc(f.order, func(a, b int) int { return strings.Compare(labels[a], labels[b]) })
	return f
}

// appendValue appends the line of one value. labelValues are in the order of the labels.
func (f *family) appendValue(t []byte, value float64, labelValues ...string) []byte {
	t = append(t, f.name...)
	for i, label := range f.order {
		t = append(t, "{,"[min(i, 1)])
		t = append(t, f.labels[label]...)
		t = append(t, '=', '"')
		t = append(t, escape(labelValues[label], true)...)
		t = append(t, '"')
	}
	if len(f.order) > 0 {
		t = append(t, '}')
	}
	t = append(t, ' ')
	t = strconv.AppendFloat(t, value, 'g', -1, 64)
	return append(t, '\n')
}

// exposition is a scrape that is being written, in the text format of Prometheus 0.0.4.
type exposition struct {
	sections map[string]*section
	slot     *cpushare.Slot // the slot of readers; may be nil
	sizes    map[string]int // bytes of the sections of the last scrape: initial capacities
}

// section is the text of one family: its own text, followed by values of queues.
type section struct {
	text   []byte
	family int // of queues
	queues []*queueText
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
	s.text = f.appendValue(s.text, value, labelValues...)
}

// addQueues adds the values of the queues of a partition in a family of queues.
func (x *exposition) addQueues(f *family, number int, root *queueText) {
	if root.values[number].bytes > 0 {
		s := x.sectionOf(f)
		s.family, s.queues = number, append(s.queues, root)
	}
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

// inOrder returns all sections, in the order of the names of their families.
func (x *exposition) inOrder() []*section {
	names := make([]string, 0, len(x.sections))
	for name := range x.sections {
		names = append(names, name)
	}
	slices.Sort(names)
	sections := make([]*section, len(names))
	for i, name := range names {
		sections[i] = x.sections[name]
	}
	return sections
}

// bytes returns the length of the text of a section.
func (s *section) bytes() int {
	n := len(s.text)
	for _, root := range s.queues {
		n += root.values[s.family].bytes
	}
	return n
}

// pieces yields the text of a section; false: yield did.
func (s *section) pieces(yield func([]byte) bool) bool {
	if !yield(s.text) {
		return false
	}
	for _, root := range s.queues {
		if !root.pieces(s.family, yield) {
			return false
		}
	}
	return true
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
