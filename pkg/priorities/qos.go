package priorities

// QoSTag is the tag of an ask with the quality-of-service class of its pod. No shim sends it yet; the name
// follows the tags that shims send.
const QoSTag = "kubernetes.io/meta/qosClass"

// QoS is a quality-of-service class of Kubernetes, the lowest first (PRE-45).
type QoS uint8

// The quality-of-service classes. A missing value is Burstable, the middle one: it is then not known whether the pod
// requests nothing, or uses no more than it requests.
const (
	BestEffort QoS = iota // the pod requests nothing
	Burstable             // the pod may use more than it requests
	Guaranteed            // the pod uses at most what it requests
)

func (q QoS) String() string { return [...]string{"BestEffort", "Burstable", "Guaranteed"}[q] }

// QoSOf returns the quality of service in the tags of an ask. An unknown value, and a missing one, is Burstable.
func QoSOf(tags map[string]string) QoS {
	text := tags[QoSTag]
	for q := BestEffort; q <= Guaranteed; q++ {
		if text == q.String() {
			return q
		}
	}
	return Burstable
}
