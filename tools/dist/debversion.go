package main

import (
	"regexp"
	"strings"
	"time"
)

// tagged matches the version of a tag, such as v1.2.3 or v1.2.3-rc.1, and of commits after it, such as v1.2.3-5-gabc.
var tagged = regexp.MustCompile(`^v?([0-9]+(?:\.[0-9]+)*)(?:-([a-z]+[0-9a-z.]*))?(?:-([0-9]+)-(g[0-9a-f]+))?$`)

// debianVersion returns what git describe has printed as a version of Debian, which sorts in the order of the releases:
// a release candidate before its release, and commits after it. What has no tag sorts before all of them, by its time.
func debianVersion(version string, at time.Time) string {
	version, dirty := strings.CutSuffix(version, "-dirty")
	var deb string
	if m := tagged.FindStringSubmatch(version); m == nil {
		deb = "0~git" + at.UTC().Format("20060102150405") + "." + strings.NewReplacer("-", ".", "_", ".").Replace(version)
	} else {
		deb = m[1]
		if m[2] != "" {
			deb += "~" + m[2]
		}
		if m[3] != "" {
			deb += "+" + m[3] + "." + m[4]
		}
	}
	if dirty {
		deb += "+dirty"
	}
	return deb
}
