package preemption

import "time"

// ForgetOld forgets what does not count any more, now and not only when there is much of it.
func ForgetOld(c *Churn, now time.Time) {
	c.sweep = 0
	c.forgetOld(now)
}

// Remembered is how much c keeps in mind.
func Remembered(c *Churn) int { return len(c.moves) + len(c.gained) }
