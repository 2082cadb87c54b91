package affinity

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/constraints"
)

// spreadConstraint is an element of the JSON of SpreadTag.
type spreadConstraint struct {
	MaxSkew            int32     `json:"maxSkew"`
	TopologyKey        string    `json:"topologyKey"`
	WhenUnsatisfiable  string    `json:"whenUnsatisfiable"`
	LabelSelector      *Selector `json:"labelSelector"`
	MinDomains         *int32    `json:"minDomains"`
	NodeAffinityPolicy string    `json:"nodeAffinityPolicy"`
	NodeTaintsPolicy   string    `json:"nodeTaintsPolicy"`
	MatchLabelKeys     []string  `json:"matchLabelKeys"`
}

// Values of whenUnsatisfiable.
const (
	doNotSchedule  = "DoNotSchedule"
	scheduleAnyway = "ScheduleAnyway"
)

// Values of the policies, which say whether nodes that the ask does not admit count.
const (
	honor  = "Honor"
	ignore = "Ignore"
)

func (a *Ask) parseSpread(text string) error {
	var read []spreadConstraint
	if err := constraints.Decode(text, &read); err != nil {
		return err
	}
	for i := range read {
		c := &read[i]
		err := c.check()
		if err == nil && slices.ContainsFunc(read[:i], func(other spreadConstraint) bool {
			return other.TopologyKey == c.TopologyKey && other.WhenUnsatisfiable == c.WhenUnsatisfiable
		}) {
			err = errors.New("topologyKey and whenUnsatisfiable are those of another constraint")
		}
		if err != nil {
			return fmt.Errorf("constraint %d: %w", i+1, err)
		}
		kind := &a.content.Spread
		if c.WhenUnsatisfiable == scheduleAnyway {
			kind = &a.content.PreferredSpread
		}
		*kind = append(*kind, c.resolve(a.content.Labels))
	}
	return nil
}

func (c *spreadConstraint) check() error {
	switch {
	case c.MaxSkew < 1:
		return fmt.Errorf("maxSkew %d is below 1", c.MaxSkew)
	case c.TopologyKey == "":
		return errNoTopologyKey
	case c.WhenUnsatisfiable != doNotSchedule && c.WhenUnsatisfiable != scheduleAnyway:
		return fmt.Errorf("whenUnsatisfiable %q is none of DoNotSchedule, ScheduleAnyway", c.WhenUnsatisfiable)
	case c.MinDomains != nil && *c.MinDomains < 1:
		return fmt.Errorf("minDomains %d is below 1", *c.MinDomains)
	case c.MinDomains != nil && c.WhenUnsatisfiable != doNotSchedule:
		return errors.New("minDomains needs DoNotSchedule")
	case len(c.MatchLabelKeys) > 0 && c.LabelSelector == nil:
		return errKeysWithoutSelector
	case slices.Contains(c.MatchLabelKeys, ""):
		return errEmptyKey
	}
	for _, policy := range []string{c.NodeAffinityPolicy, c.NodeTaintsPolicy} {
		if policy != "" && policy != honor && policy != ignore {
			return fmt.Errorf("policy %q is none of Honor, Ignore", policy)
		}
	}
	return c.LabelSelector.check()
}

// resolve returns the constraint for an ask with these labels. Without policies, nodeAffinityPolicy is Honor and
// nodeTaintsPolicy Ignore.
func (c *spreadConstraint) resolve(labels map[string]string) Spread {
	s := Spread{
		TopologyKey: c.TopologyKey, MaxSkew: c.MaxSkew, Selector: c.LabelSelector.with(c.MatchLabelKeys, nil, labels),
		AllNodes: c.NodeAffinityPolicy == ignore, SkipsTainted: c.NodeTaintsPolicy == honor,
	}
	if c.MinDomains != nil {
		s.MinDomains = *c.MinDomains
	}
	s.SelectsItself = s.Selector.Matches(labels)
	return s
}

// containerPort is an element of the JSON of PortsTag.
type containerPort struct {
	Name          string `json:"name"`
	HostPort      int32  `json:"hostPort"` // 0: the port is not one of the node
	ContainerPort int32  `json:"containerPort"`
	Protocol      string `json:"protocol"` // empty: TCP
	HostIP        string `json:"hostIP"`   // empty: anyIP
}

func (a *Ask) parsePorts(text string) error {
	var read []containerPort
	if err := constraints.Decode(text, &read); err != nil {
		return err
	}
	for i := range read {
		p := &read[i]
		switch {
		case p.HostPort < 0 || p.HostPort > 65535:
			return fmt.Errorf("hostPort %d is not from 1 to 65535", p.HostPort)
		case p.Protocol != "" && p.Protocol != "TCP" && p.Protocol != "UDP" && p.Protocol != "SCTP":
			return fmt.Errorf("protocol %q of hostPort %d is none of TCP, UDP, SCTP", p.Protocol, p.HostPort)
		case strings.Trim(p.HostIP, "0123456789abcdefABCDEF.:") != "":
			return fmt.Errorf("hostIP %q of hostPort %d is no IP address", p.HostIP, p.HostPort)
		case p.HostPort == 0:
			continue
		}
		port := Port{Port: p.HostPort, Protocol: p.Protocol, HostIP: p.HostIP}
		if port.Protocol == "" {
			port.Protocol = "TCP"
		}
		if port.HostIP == "" {
			port.HostIP = anyIP
		}
		if !slices.Contains(a.content.Ports, port) {
			a.content.Ports = append(a.content.Ports, port)
		}
	}
	return nil
}
