package queuesyaml

import "strings"

// placementHead has the queues for the placement rules.
const placementHead = rootHead + `
    queues:
    - name: Leaf
    - name: flagged
      parent: true
    - name: full
      queues:
      - name: leaf
  placementrules:
`

func badPlacement() []badDocument {
	return []badDocument{
		{"illegal names of placement rules", placementHead + `
  - name: «V26»my-rule
  - «V26»create: true
  - name: user
    parent:
      name: «V26»""
`},
		{"unknown placement rules", placementHead + `
  - name: «L3»provide
  - name: «L3»recovery
  - name: «L3»test
  - name: user
    parent: {name: «L3»nothing}
`},
		{"placement rules without a value", placementHead + `
  - name: «L3»fixed
  - name: «L3»tag
  - name: tag
    value: «L3»""
  - name: user
    value: ignored
`},
		{"illegal values of fixed rules", placementHead + `
  - name: fixed
    value: «L3»root..leaf
  - name: fixed
    value: «L3»root.
  - name: fixed
    value: «L3»leaf.b%d
  - name: fixed
    value: «L3»Root.leaf
    parent: {name: user}
  - name: fixed
    value: «L3»root
    parent: {name: fixed, value: full}
`},
		{"filters of an unknown type", placementHead + `
  - name: user
    filter: {type: «V27»refuse}
    create: true
`},
		{"a single filter element that is neither a name nor an expression", placementHead + `
  - name: user
    filter:
      users: [«V28»"1st"]
      groups: [«V28»"*"]
  - name: user
    filter:
      users: [«V28»"(a"]
      groups: [«V28»""]
  - name: user
    filter:
      users: [«V28»"` + strings.Repeat("a+", maxExpressionLength) + `"]
`},
		{"an expression in a filter list of several elements", placementHead + `
  - name: user
    filter:
      users: [alice, «filter-name»"b.*"]
      groups: [dev, «filter-name»""]
`},
		{"fixed rules to queues that do not exist", placementHead + `
  - name: fixed
    value: «V29»root.nowhere
  - name: Fixed
    value: «V29»full.nowhere
  - name: fixed
    value: «V29»rootfoo
  - name: user
    parent: {name: fixed, value: «V29»nowhere, create: true}
  - name: user
    create: true
    parent: {name: fixed, value: nowhere}
  - name: user
    parent: {name: fixed, value: full}
  - name: tag
    value: namespace
    parent: {name: fixed, value: root.flagged}
  - name: fixed
    value: nowhere.at.all
    create: true
`},
		{"fixed rules to queues below a leaf", placementHead + `
  - name: fixed
    value: «V29»leaf.below
    create: true
  - name: user
    create: true
    parent: {name: fixed, value: «V29»LEAF}
  - name: fixed
    value: «V29»below
    create: true
    parent: {name: fixed, value: root.full.leaf}
`},
		{"fixed rules to a parent queue", placementHead + `
  - name: fixed
    value: «V29»root.flagged
  - name: fixed
    value: «V29»full
    create: true
  - name: fixed
    value: «V29»root
`},
	}
}

func badProperties() []badDocument {
	return []badDocument{
		{"unknown properties", rootHead + `
    properties:
      «property-unknown»appication.sort.priority: disabled
    childtemplate:
      properties:
        «property-unknown»priority.offest: 5
        «property-unknown»Priority.Offset: 5
`},
		{"malformed property values", rootHead + `
    properties:
      priority.policy: «property-value»fenced
      priority.offset: «property-value»high
      application.sort.priority: «property-value»yes
    childtemplate:
      properties:
        priority.offset: «property-value»"5 "
    queues:
    - name: a
      properties:
        application.sort.policy: «property-value»Fifo
        application.unschedasks.backoff.delay: «property-value»soon
        application.unschedasks.backoff: «property-value»-1
        preemption.delay: «property-value»0s
        preemption.policy: «property-value»off
        priority.offset: «property-value»2147483648
        priority.policy: «property-value»fenced
        quota.preemption.delay: «property-value»-1s
        preemption.guarantee: «property-value»some
    - name: runtimes
      queues:
      - {name: a, properties: {preemption.minruntime: «property-value»-1s}}
      - {name: b, properties: {preemption.minruntime: «property-value»10}}
      - {name: c, properties: {preemption.minruntime: «property-value»87601h}}
      - {name: d, properties: {preemption.minruntime: «property-value»3000000h}}
      - name: e
        properties: {preemption.minruntime: 87600h, preemption.minruntime.strict: «property-value»strict}
    - name: backoff
      properties:
        «property-unused»application.unschedasks.backoff: 3
        application.unschedasks.backoff.delay: 10s
    - name: nobackoff
      properties:
        application.unschedasks.backoff: 0
    - name: b
      properties:
        priority.offset:
        priority.policy: ""
        preemption.policy: FENCE
        quota.preemption.delay: 0s
`},
		{"preemption.minruntime.strict without a minimum run time", rootHead + `
    properties:
      preemption.minruntime.strict: true
    queues:
    - name: a
      properties:
        preemption.minruntime: 1m
      childtemplate:
        properties:
          «property-unused»preemption.minruntime.strict: true
      parent: true
    - name: b
      properties:
        «property-unused»preemption.minruntime.strict: true
        preemption.minruntime: 0s
      queues:
      - name: c
        properties:
          preemption.minruntime.strict: false
    - name: d
      queues:
      - name: e
        properties: {preemption.minruntime: 1s}
      - name: f
        properties: {«property-unused»preemption.minruntime.strict: true}
`},
		{"quota.preemption.delay without quota preemption", rootHead + `
    properties:
      «quota-delay»quota.preemption.delay: 5m
    queues:
    - name: a
      properties:
        quota.preemption.delay: 0s
    - name: b
      childtemplate:
        properties:
          «quota-delay»quota.preemption.delay: 5m
      parent: true
`},
		{"priority.ageing", rootHead + `
    queues:
    - name: a
      properties: {priority.ageing: 10 per 10m up to 100}
    - name: b
      properties: {priority.ageing: «property-value»10 per 10m up to 9}
    - name: c
      properties: {«property-unused»priority.ageing: 1 per 1s up to 1}
      childtemplate: {properties: {priority.ageing: 1 per 1s up to 1}}
      parent: true
    - name: d
      properties: {priority.ageing: off}
      queues: [{name: e, properties: {priority.ageing: «property-value»1 per 1ms up to 1}}]
`},
		{"fairness.*", `
partitions:
- name: default
  fairness: {weights: {vcore: 1, gpu: «V31»2000, memory: «V31»-1, pods: 0, disk: 0.001}}
  queues:
  - name: root
    submitacl: '*'
    properties: {fairness.halflife: 24h, «property-unused»fairness.by: user, «property-unused»fairness.weight: 2}
    queues:
    - name: a
      properties: {fairness.weight: guarantee, fairness.halflife: «property-value»1s}
    - name: b
      properties: {fairness.weight: «property-value»0, fairness.halflife: «property-value»876000h}
    - name: c
      properties: {application.sort.policy: stateaware, «property-unused»fairness.halflife: 1h}
    - name: d
      parent: true
      properties: {fairness.halflife: off}
      childtemplate:
        properties: {fairness.halflife: 1h, fairness.by: user, «property-unused»fairness.weight: 3}
      queues:
      - name: e
        properties: {«property-unused»fairness.weight: 3, fairness.halflife: 1h, fairness.by: «property-value»group}
`},
		{"preemption.fairshare", `
partitions:
- name: default
  queues:
  - name: root
    submitacl: '*'
    properties: {preemption.fairshare: enabled}
    queues:
    - name: a
      properties: {fairness.weight: 2, preemption.fairshare: enabled, fairness.by: user}
    - name: b
      parent: true
      properties: {preemption.fairshare: «property-value»yes, «property-unused»fairness.by: user}
      childtemplate: {properties: {preemption.fairshare: enabled, fairness.by: user}}
- name: off
  preemption: {enabled: false}
  queues:
  - name: root
    submitacl: '*'
    properties: {«property-unused»preemption.fairshare: enabled}
`},
		{"preemption.priority where priority is disabled", `
partitions:
- priority: disabled
  queues:
  - name: root
    submitacl: '*'
    properties: {«priority-off»preemption.priority: fence}
    queues:
    - name: a
      properties: {preemption.priority: disabled, «priority-off»priority.ageing: 1 per 1s up to 1}
- name: b
  priority: enabled
  queues: [{name: root, submitacl: '*', properties: {preemption.priority: leaf}}]
`},
		{"quota.preemption.delay with quota preemption", `
partitions:
- preemption: {quotapreemptionenabled: true}
  queues:
  - name: root
    submitacl: '*'
    properties:
      quota.preemption.delay: 5m
`},
		{"stateaware on a parent", rootHead + `
    properties:
      application.sort.policy: «stateaware-parent»stateaware
    queues:
    - name: a
      properties:
        application.sort.policy: stateaware
`},
		{"fair without a guarantee", rootHead + `
    properties:
      application.sort.policy: «fair-parent»fair
    queues:
    - name: p
      properties: {application.sort.policy: fair} # no leaf below inherits it
      queues: [{name: x, properties: {application.sort.policy: fifo}}]
    - name: a
      properties:
        application.sort.policy: «fair-raw»fair
    - name: b
    - name: c
      resources: {guaranteed: {memory: 1Gi}}
      properties:
        application.sort.policy: fair
`},
		{"a default run time above the maximum", rootHead + `
    properties: {runtime.max: 2h}
    queues:
    - name: a
      properties:
        runtime.default: «runtime-default»3h
    - name: b
      properties: {runtime.default: 3h, runtime.max: 0s}
    - name: c
      properties: {runtime.default: 90m}
      queues:
      - name: d
        properties:
          runtime.max: «runtime-default»1h
      - name: e
        properties: {runtime.grace: 0s, runtime.enforce: "true"}
    - name: f
      properties:
        runtime.default: «property-value»1ms
        runtime.max: «property-value»876000h
        runtime.excess: «property-value»shorten
        runtime.enforce: «property-value»yes
        runtime.grace: «property-value»-1s
`},
		{"backfill without bounds", `
partitions:
- name: «backfill-unbounded»default
  queues: [{name: root, submitacl: '*'}]
  reservation: {backfill: Bounded}
- name: b
  queues: [{name: root, submitacl: '*', queues: [{name: a, properties: {runtime.enforce: "true"}}]}]
  reservation: {backfill: bounded, backfillasks: 10000, backfillnodes: 1}
- name: c
  queues: [{name: root, submitacl: '*', parent: true, childtemplate: {properties: {runtime.enforce: "true"}}}]
  reservation: {backfill: bounded}
- name: d
  queues: [{name: root, submitacl: '*'}]
  reservation: {backfill: off}
- name: e
  queues: [{name: root, submitacl: '*'}]
  reservation: {backfill: «yaml-type»true, backfillasks: «yaml-type»0, backfillnodes: «yaml-type»64.5}
- name: f
  queues: [{name: root, submitacl: '*'}]
  reservation: {backfill: «yaml-type»[bounded], backfillasks: «yaml-type»-1, backfillnodes: «yaml-type»10001}
`},
		{"resources of zeroes only", rootHead + `
    childtemplate:
      resources:
        max: «zero-resources»{memory: 0}
        guaranteed: «zero-resources»{memory: 0}
    queues:
    - name: a
      resources:
        max: «zero-resources»{memory: 0, vcore: 0}
        guaranteed: «zero-resources»{memory: 0}
    - name: b
      resources:
        max: {memory: 0, vcore: 1}
`},
		{"a child template on a leaf", rootHead + `
    queues:
    - name: a
      childtemplate:
        «template-leaf»maxapplications: 5
    - name: b
      childtemplate:
        properties: {"": x, priority.offset: ""}
        resources: {max: {}}
`},
		{"priority offsets that reach system priorities", rootHead + `
    properties:
      priority.offset: 2000000000
    queues:
    - name: alone
      properties: {priority.offset: «offset-system»1000000000}
    - name: below
      properties: {priority.offset: 999999999}
    - name: sum
      properties: {priority.offset: «offset-system»1}
      queues:
      - name: a
        properties: {priority.offset: 999999999}
      - name: b
        properties: {priority.offset: 5}
    - name: lowered
      properties: {priority.offset: -1}
      queues:
      - name: a
        properties: {priority.offset: «offset-system»1000000000}
    - name: raised
      properties: {priority.offset: 1}
      queues:
      - name: a
        properties: {priority.offset: «offset-system»1000000000}
    - name: fenced
      properties: {priority.offset: 1000000000, priority.policy: fence}
      queues:
      - name: a
        properties: {priority.offset: 999999999}
    - name: highfence
      properties: {priority.offset: «offset-system»2000000000, priority.policy: FENCE}
    - name: overfence
      properties: {priority.offset: «offset-system»1000000001, priority.policy: fence}
    - name: dynamic
      parent: true
      properties: {priority.offset: «offset-system»1}
      childtemplate:
        properties: {priority.offset: 999999999}
`},
	}
}
