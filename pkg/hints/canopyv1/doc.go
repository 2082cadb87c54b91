// Package canopyv1 has the generated messages and the client of the gRPC service canopy.v1.Hints. hints.proto is the
// source, with the meaning of each field; "make proto" generates the Go files.
package canopyv1
