package priorities

// QoSTag carries the quality-of-service class of a pod. No shim of today sends it, so the name
// is ours, in the manner of what they do send.
const QoSTag = "kubernetes.io/meta/qosClass"

// QoS is the quality of service of a piece of work, the least first (priority.md S2-21, S3-61).
type QoS uint8

// The classes of Kubernetes. What says nothing is Burstable, in the middle: nobody can know that
// it asked for nothing, nor that it was promised what it holds, so it neither goes first nor
// stays longest for that.
const (
	BestEffort QoS = iota // it asked for nothing
	Burstable             // it may use more than it asked for
	Guaranteed            // it uses what it asked for
)

func (q QoS) String() string { return [...]string{"BestEffort", "Burstable", "Guaranteed"}[q] }

// QoSOf is what the tags of a piece of work say about it. A word that Kubernetes does not have
// is as good as none.
func QoSOf(tags map[string]string) QoS {
	text := tags[QoSTag]
	for q := BestEffort; q <= Guaranteed; q++ {
		if text == q.String() {
			return q
		}
	}
	return Burstable
}
