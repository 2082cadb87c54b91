// Package canopyv1 has copies of the generated messages and client of canopy.v1.Hints, so that the example builds
// without other packages of this repository. "make proto" writes them.
package canopyv1
