package metrics

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// latencyName is YuniKorn's name of a histogram of seconds, in spite of its end.
const latencyName = "yunikorn_scheduler_scheduling_latency_milliseconds"

var latencyDesc = prometheus.NewDesc(latencyName,
	"Duration of a run of scheduling decisions in seconds, as YuniKorn has it: the same as "+decisionRunsName+".",
	[]string{"partition"}, nil)

// yunikornLatency shows the durations of runs under YuniKorn's name too, for its dashboards (OBS-67). It is made from
// the histogram when that is scraped, so that runs are recorded once.
type yunikornLatency struct{ runs *prometheus.HistogramVec }

// Describe implements prometheus.Collector.
func (yunikornLatency) Describe(to chan<- *prometheus.Desc) { to <- latencyDesc }

// Collect implements prometheus.Collector.
func (l yunikornLatency) Collect(to chan<- prometheus.Metric) {
	all := make(chan prometheus.Metric)
	go func() {
		defer close(all)
		l.runs.Collect(all)
	}()
	for one := range all {
		var m dto.Metric
		if err := one.Write(&m); err != nil {
			to <- prometheus.NewInvalidMetric(latencyDesc, err)
			continue
		}
		h, buckets := m.GetHistogram(), map[float64]uint64{}
		for _, b := range h.GetBucket() {
			if bound := b.GetUpperBound(); !math.IsInf(bound, 1) {
				buckets[bound] = b.GetCumulativeCount()
			}
		}
		to <- prometheus.MustNewConstHistogram(latencyDesc, h.GetSampleCount(), h.GetSampleSum(), buckets,
			m.GetLabel()[0].GetValue())
	}
}
