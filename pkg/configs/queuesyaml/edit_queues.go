package queuesyaml

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// QueueValue is a scalar that the mapping of a queue should have.
type QueueValue struct {
	Queue string   // the path, such as root.prod, in lower case
	Keys  []string // the keys below the queue: properties and priority.offset; resources, guaranteed and a resource
	Value string   // as it is to be written: a number or a quantity
}

// EditQueues returns a text, or the queues.yaml in a ConfigMap, with other values in queues of a partition. Comments
// are kept, and so is all else, byte for byte; only where a value has no place of its own, such as in a mapping that is
// written as null, the document is encoded anew. The result is as valid as the values are: the caller loads
// it. An error means that the text cannot be read, or has no such partition or queue.
func EditQueues(text []byte, partition string, values ...QueueValue) ([]byte, error) {
	text = QueuesYAML(text)
	for _, v := range values {
		var err error
		if text, err = editQueue(text, partition, v); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func editQueue(text []byte, partition string, v QueueValue) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	var queue *yaml.Node
	if len(doc.Content) > 0 {
		queue = queueNode(doc.Content[0], partition, v.Queue)
	}
	if queue == nil {
		return nil, fmt.Errorf("the text has no queue %s in partition %s", v.Queue, partition)
	}
	spliced, ok := spliceValue(string(text), queue, v.Keys, v.Value)
	setPath(queue, v.Keys, v.Value)
	if ok {
		var again yaml.Node
		if yaml.Unmarshal([]byte(spliced), &again) == nil && sameNodes(&doc, &again) {
			return []byte(spliced), nil
		}
	}
	return encode(&doc)
}

// queueNode is the mapping of a queue; nil: there is none. A single top queue called root is the root queue (CFG-29).
func queueNode(top *yaml.Node, partition, path string) *yaml.Node {
	_, partitions := lookupKey(top, "partitions")
	if partitions == nil {
		return nil
	}
	for _, p := range partitions.Content {
		if partitionName(peek(p, "name")) != partition {
			continue
		}
		levels := strings.Split(path, ".")
		if _, top := lookupKey(p, "queues"); top != nil &&
			(len(top.Content) != 1 || queueName(top.Content[0]) != configs.RootQueue) {
			levels = levels[1:] // root is not written
		}
		n := p
		for _, name := range levels {
			_, list := lookupKey(n, "queues")
			if list == nil {
				return nil
			}
			i := slices.IndexFunc(list.Content, func(q *yaml.Node) bool { return queueName(q) == name })
			if i < 0 {
				return nil
			}
			n = list.Content[i]
		}
		if n != p {
			return n
		}
	}
	return nil
}

func queueName(n *yaml.Node) string { return strings.ToLower(peek(n, "name")) }

// setPath sets the value below a mapping, and makes the mappings on the way that are missing.
func setPath(n *yaml.Node, keys []string, value string) {
	for _, key := range keys[:len(keys)-1] {
		_, next := lookupKey(n, key)
		if next == nil || next.Kind != yaml.MappingNode {
			next = &yaml.Node{Kind: yaml.MappingNode}
			setKey(n, key, next)
		}
		n = next
	}
	setKey(n, keys[len(keys)-1], &yaml.Node{Kind: yaml.ScalarNode, Value: value})
}

// sameNodes reports whether two nodes have the same meaning. The order of keys has none.
func sameNodes(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(a.Content); i += 2 {
			_, other := lookupKey(b, a.Content[i].Value)
			if other == nil || !sameNodes(a.Content[i+1], other) {
				return false
			}
		}
		return true
	}
	return slices.EqualFunc(a.Content, b.Content, sameNodes)
}
