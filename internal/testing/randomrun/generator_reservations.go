package randomrun

import (
	"math/rand/v2"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// addReservations gives the configurations of a run settings of reservations. They are drawn last, so that the rest of
// a run does not depend on them.
func (s *Run) addReservations(source rand.Source) {
	a := &Generator{Rand: rand.New(source)}
	settings := func() configs.Reservation {
		return configs.Reservation{
			Enabled: !a.OneIn(3), Delay: Pick(a, 0, 0, 2*time.Second, 10*time.Second),
			Timeout:     Pick(a, 5*time.Second, 30*time.Second, time.Hour),
			NodePercent: Pick(a, 5, 50, 100),
		}
	}
	s.Partition.Reservation = settings()
	if a.OneIn(2) {
		s.Partition.Reservation = configs.Reservation{}
	}
	now := s.Partition.Reservation
	for i, b := range s.Steps {
		if c, ok := b.Command.(scheduler.UseConfig); ok {
			if now.Enabled && a.OneIn(2) {
				now = settings()
			}
			c.Partition.Reservation = now
			s.Steps[i].Command = c
		}
	}
}
