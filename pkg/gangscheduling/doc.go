// Package gangscheduling decides which members of a gang are placed together and when they are tried again, which asks
// may replace placeholders, and what is free in the topology domains that task groups ask for. The counts of each gang,
// the placeholders that end and the asks that wait are in package objects; package gangs has their rules.
package gangscheduling
