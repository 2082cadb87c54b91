package objects

import "fmt"

// checkTopology counts anew what is free in topology domains. Only applications that are there keep a tree.
func (c *recount) checkTopology() error {
	kept := &c.p.journal.topology
	kept.update()
	for _, t := range kept.trees {
		if err := t.Verify(newTopologyTree(t.Levels(), kept.nodes.all)); err != nil {
			return err
		}
		for a := range t.users {
			if c.p.apps[a.ID()] != a {
				return fmt.Errorf("topology %v is kept for application %s, which is not there", t.Levels(), a.ID())
			}
		}
		if len(t.users) == 0 {
			return fmt.Errorf("topology %v is kept for no application", t.Levels())
		}
	}
	return nil
}
