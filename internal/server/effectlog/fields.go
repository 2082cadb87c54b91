package effectlog

import (
	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Fields of many lines. A name means the same in all lines.

func application(id objects.AppID) zap.Field { return zap.String("application", string(id)) }

// key is the key of an ask or an allocation.
func key(k objects.AllocationKey) zap.Field { return zap.String("key", string(k)) }

func node(id objects.NodeID) zap.Field { return zap.String("node", string(id)) }

func queue(path objects.QueuePath) zap.Field { return zap.String("queue", string(path)) }

func reason(text string) zap.Field {
	if text == "" {
		return zap.Skip()
	}
	return zap.String("reason", text)
}

// amounts are quantities as in queues.yaml: memory=16Gi vcore=500m.
func amounts(name string, a resources.Amounts) zap.Field {
	return zap.String(name, resources.FormatAmounts(a))
}
