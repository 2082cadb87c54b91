package constraints

import "fmt"

// Effect names the effect of a taint on asks that do not tolerate it. The names are those of Kubernetes.
type Effect string

// The effects. The first two keep asks away alike: the core does not remove what runs.
const (
	NoSchedule       Effect = "NoSchedule"
	NoExecute        Effect = "NoExecute"
	PreferNoSchedule Effect = "PreferNoSchedule" // a preference: it keeps nothing away (Ask.Score)
)

// Taint keeps asks away from a node, unless they tolerate it.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect Effect `json:"effect"`

	// TimeAdded is read and not used: a taint works from the time at which it is reported.
	TimeAdded string `json:"timeAdded,omitempty"`
}

// String returns the taint in the usual form: key=value:effect.
func (t Taint) String() string {
	if t.Value == "" {
		return fmt.Sprintf("%s:%s", t.Key, t.Effect)
	}
	return fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect)
}

func (t *Taint) check() error {
	switch {
	case t.Key == "":
		return fmt.Errorf("a taint has no key")
	case t.Effect != NoSchedule && t.Effect != NoExecute && t.Effect != PreferNoSchedule:
		return fmt.Errorf("effect %q of taint %s is none of NoSchedule, NoExecute, PreferNoSchedule", t.Effect, t.Key)
	}
	return nil
}

// repels reports whether the taint keeps away asks that do not tolerate it.
func (t *Taint) repels() bool { return t.Effect != PreferNoSchedule }

// TolerationOperator relates a toleration to the value of a taint.
type TolerationOperator string

// The operators of tolerations; empty means TolerationEqual.
const (
	TolerationEqual  TolerationOperator = "Equal"  // the values are equal
	TolerationExists TolerationOperator = "Exists" // any value
)

// Toleration lets an ask be placed on a node despite a taint.
type Toleration struct {
	Key      string             `json:"key,omitempty"` // empty: any; only with TolerationExists
	Operator TolerationOperator `json:"operator,omitempty"`
	Value    string             `json:"value,omitempty"`
	Effect   Effect             `json:"effect,omitempty"` // empty: any

	// TolerationSeconds is read and not used: the core removes nothing because of a taint.
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

func (t *Toleration) tolerates(taint *Taint) bool {
	return (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) &&
		(t.Operator == TolerationExists || t.Value == taint.Value)
}

func (t *Toleration) check() error {
	switch {
	case t.Operator != "" && t.Operator != TolerationEqual && t.Operator != TolerationExists:
		return fmt.Errorf("operator %q of toleration %q is none of Equal, Exists", t.Operator, t.Key)
	case t.Key == "" && t.Operator != TolerationExists:
		return fmt.Errorf("a toleration without a key needs the operator Exists")
	case t.Operator == TolerationExists && t.Value != "":
		return fmt.Errorf("toleration %q has the operator Exists and a value", t.Key)
	case t.Effect != "" && t.Effect != NoSchedule && t.Effect != NoExecute && t.Effect != PreferNoSchedule:
		return fmt.Errorf("effect %q of toleration %q is none of NoSchedule, NoExecute, PreferNoSchedule", t.Effect, t.Key)
	}
	return nil
}
