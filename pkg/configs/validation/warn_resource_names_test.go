package validation

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestIsMisspelt_KeepsDeviceNamesApart(t *testing.T) {
	for _, pair := range [][2]string{
		{"vcore", "vcores"}, {"vcore", "VCore"}, {"vcore", "vcoer"}, {"vcore", "vcor"}, {"vcore", "vcpre"},
		{"memory", "memorry"},
		{"nvidia.com/gpu", "nvidia.com/gpus"}, {"nvidia.com/gpu", "nvidia.com/GPU"}, {"nvidia.com/gpu", "nvidia/com/gpu"},
		{"nvidia.com/gpu", "nvidi.com/gpu"}, {"ephemeral-storage", "ephemeralStorage"},
	} {
		assert.Assert(t, isMisspelt(pair[0], pair[1]) && isMisspelt(pair[1], pair[0]), "%v", pair)
	}
	for _, pair := range [][2]string{
		{"vcore", "vcore"}, {"example.com/a100", "example.com/h100"}, {"example.com/gpu", "example.com/tpu"},
		{"x/gpu1", "x/gpu2"},
		{"nvidia.com/gpu", "nvidia.com/vgpu"}, {"nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.5gb"},
		{"hugepages-2Mi", "hugepages-2Gi"},
		{"rdma/hca_a", "rdma/hca_b"}, {"nvidia.com/gpu", "amd.com/gpu"}, {"a", "as"}, {"", "s"}, {"team1", "team"},
	} {
		assert.Assert(t, !isMisspelt(pair[0], pair[1]) && !isMisspelt(pair[1], pair[0]), "%v", pair)
	}
}
