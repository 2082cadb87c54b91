// Package shim builds the shim of YuniKorn for Kubernetes with Canopy as its core.
package shim
