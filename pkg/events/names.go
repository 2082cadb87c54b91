package events

// The names of the numbers of the event interface (OBS-24), as in the scheduler interface of YuniKorn.

var typeNames = [...]string{Request: "REQUEST", Application: "APP", Node: "NODE", Queue: "QUEUE", 5: "USERGROUP"}

var changeNames = [...]string{NoChange: "NONE", Set: "SET", Add: "ADD", Remove: "REMOVE"}

// detailNames has all details of the interface, also those that no record has.
var detailNames = map[Detail]string{
	0:   "DETAILS_NONE",
	100: "REQUEST_CANCEL",
	101: "REQUEST_ALLOC",
	102: "REQUEST_TIMEOUT",
	200: "APP_ALLOC",
	201: "APP_REQUEST",
	202: "APP_REJECT",
	203: "APP_NEW",
	204: "APP_ACCEPTED",
	206: "APP_RUNNING",
	207: "APP_COMPLETING",
	208: "APP_COMPLETED",
	209: "APP_FAILING",
	210: "APP_FAILED",
	211: "APP_RESUMING",
	212: "APP_EXPIRED",
	213: "APP_CANNOTRUN_QUEUE",
	214: "APP_RUNNABLE_QUEUE",
	215: "APP_CANNOTRUN_QUOTA",
	216: "APP_RUNNABLE_QUOTA",
	300: "NODE_DECOMISSION",
	302: "NODE_SCHEDULABLE",
	303: "NODE_ALLOC",
	304: "NODE_CAPACITY",
	305: "NODE_OCCUPIED",
	306: "NODE_RESERVATION",
	400: "QUEUE_CONFIG",
	401: "QUEUE_DYNAMIC",
	402: "QUEUE_TYPE",
	403: "QUEUE_MAX",
	404: "QUEUE_GUARANTEED",
	405: "QUEUE_APP",
	406: "QUEUE_ALLOC",
	407: "QUEUE_PREEMPTION",
	500: "ALLOC_CANCEL",
	501: "ALLOC_PREEMPT",
	502: "ALLOC_TIMEOUT",
	503: "ALLOC_REPLACED",
	504: "ALLOC_NODEREMOVED",
	600: "UG_USER_LIMIT",
	601: "UG_GROUP_LIMIT",
	602: "UG_APP_LINK",
	603: "UG_USER_RESOURCE",
	604: "UG_GROUP_RESOURCE",
}

// String returns the name in the interface; "UNKNOWN" for a number without one.
func (t Type) String() string { return nameOf(typeNames[:], int(t)) }

// String returns the name in the interface; "UNKNOWN" for a number without one.
func (c Change) String() string { return nameOf(changeNames[:], int(c)) }

// String returns the name in the interface; "UNKNOWN" for a number without one.
func (d Detail) String() string {
	if name, ok := detailNames[d]; ok {
		return name
	}
	return unknownName
}

const unknownName = "UNKNOWN"

func nameOf(names []string, i int) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return unknownName
}
