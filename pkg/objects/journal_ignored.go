package objects

import (
	"github.com/canopy-scheduler/canopy/pkg/lifecycle"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// A consumer that decides nothing about a group of kinds embeds the type that ignores it. When a kind is added to
// a group, look at each consumer that embeds the type. Every consumer decides about the changes of queues.

type (
	ignoreAskChanges           struct{}
	ignoreAllocationChanges    struct{}
	ignoreGangChanges          struct{}
	ignoreNodeChanges          struct{}
	ignoreAccountChanges       struct{}
	ignoreApplicationChanges   struct{}
	ignoreConfigurationChanges struct{}
)

func (ignoreAskChanges) askAdded(*Allocation, groupPosition)            {}
func (ignoreAskChanges) askRemoved(*Allocation, *AskGroup)              {}
func (ignoreAskChanges) nominationAdded(*Allocation, *Node)             {}
func (ignoreAskChanges) nominationRemoved(*Allocation, *Node)           {}
func (ignoreAskChanges) nominationEnded(*Allocation, EndedNomination)   {}
func (ignoreAskChanges) reservationAdded(*Allocation, *Node)            {}
func (ignoreAskChanges) reservationEnded(*Allocation, EndedReservation) {}
func (ignoreAskChanges) waitingStateChanged(*Allocation)                {}

func (ignoreAllocationChanges) allocationPosted(*Allocation)   {}
func (ignoreAllocationChanges) allocationUnposted(*Allocation) {}
func (ignoreAllocationChanges) allocationResized(*Allocation)  {}
func (ignoreAllocationChanges) allocationTagged(*Allocation)   {}
func (ignoreAllocationChanges) preemptionMarked(*Allocation)   {}
func (ignoreAllocationChanges) preemptionUnmarked(*Allocation) {}

func (ignoreGangChanges) placeholderEnding(*Allocation)             {}
func (ignoreGangChanges) replacementAdded(*Allocation, *Allocation) {}
func (ignoreGangChanges) replacementEnded(*Allocation, *Allocation) {}
func (ignoreGangChanges) replaced(*Allocation)                      {}
func (ignoreGangChanges) gangRefused(*Application, []MemberGroup)   {}
func (ignoreGangChanges) gangCountsChanged(*Application)            {}
func (ignoreGangChanges) askGroupHeld(*AskGroup)                    {}

func (ignoreNodeChanges) nodeAdded(*Node)                {}
func (ignoreNodeChanges) nodeRemoved(*Node)              {}
func (ignoreNodeChanges) nodeUsageChanged(*Node)         {}
func (ignoreNodeChanges) nodeFreed(*Node)                {}
func (ignoreNodeChanges) nodeRestored(*Node)             {}
func (ignoreNodeChanges) schedulabilityChanged(*Node)    {}
func (ignoreNodeChanges) nodeAttributesChanged(*Node)    {}
func (ignoreNodeChanges) nodeBudgetsChanged(*Node)       {}
func (ignoreNodeChanges) foreignAdded(*Node, *Foreign)   {}
func (ignoreNodeChanges) foreignRemoved(*Node, *Foreign) {}
func (ignoreNodeChanges) capacityChanged(*Queue)         {}

func (ignoreAccountChanges) accountMembersChanged(*quota.Account) {}
func (ignoreAccountChanges) accountUsageChanged(*quota.Account)   {}
func (ignoreAccountChanges) accountRunningChanged(*quota.Account) {}

func (ignoreApplicationChanges) applicationAdded(*Application)                          {}
func (ignoreApplicationChanges) applicationRemoved(*Application)                        {}
func (ignoreApplicationChanges) applicationStateChanged(*Application, lifecycle.Change) {}
func (ignoreApplicationChanges) applicationExpired(*lifecycle.Ended, lifecycle.Change)  {}
func (ignoreApplicationChanges) runningChanged(*Application)                            {}
func (ignoreApplicationChanges) firstStartingChanged(*Application)                      {}
func (ignoreApplicationChanges) applicationMoved(*Application, *Queue)                  {}
func (ignoreApplicationChanges) mayPreemptChanged(*Application)                         {}
func (ignoreApplicationChanges) mayBeAllocatedChanged(*Application)                     {}

func (ignoreConfigurationChanges) configurationChanged() {}
func (ignoreConfigurationChanges) settingsApplied()      {}
func (ignoreConfigurationChanges) rebuilding()           {}
func (ignoreConfigurationChanges) resourceAdded()        {}
func (ignoreConfigurationChanges) refusalsMayEnd()       {}
