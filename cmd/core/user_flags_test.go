package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
)

const ldapQueues = "partitions: [{name: gpu, usergroupresolver: {type: ldap}, " +
	"queues: [{name: root, submitacl: '*'}]}, {name: default, queues: [{name: root, submitacl: '*'}]}]\n"

func TestServe_ConfigWithoutLDAPSettingsIsRejected(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "queues.yaml")
	assert.NilError(t, os.WriteFile(file, []byte(ldapQueues), 0o600))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "Host"), []byte("localhost"), 0o600))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer taken.Close()
	// The port is in use: opening it would be another error.
	code, out, errs := runCanopy("serve", "--config", file, "--ldap-secrets", dir, "--grpc-address", taken.Addr().String())
	assert.Equal(t, code, cmdline.Refused)
	assert.Equal(t, out, "")
	assert.Assert(t,
		strings.Contains(errs, "--config: "+file+": partition gpu: usergroupresolver ldap: settings of LDAP in "+dir+
			": missing: Port, BaseDN, Filter, GroupAttr, ReturnAttr, BindUser, BindPassword"), errs)
}

func TestUserFlags_InvalidValues(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"--user-lookup-timeout", "0s", "--user-lookup-timeout: 0s is not above zero"},
		{"--user-lookup-timeout", "-1s", "--user-lookup-timeout: -1s is not above zero"},
	} {
		code, _, errs := runCanopy("serve", c.flag, c.value)
		assert.Equal(t, code, cmdline.Usage, errs)
		assert.Assert(t, strings.Contains(errs, c.want), errs)
	}
}

// The registration of a resource manager with such a configuration fails with the missing settings,
// and the server goes on.
func TestServe_RegistrationWithoutLDAPSettingsIsRejected(t *testing.T) {
	dir := t.TempDir()
	p := startProgram(t, buildProgram(t), "serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0",
		"--ldap-secrets", dir)
	s := connect(t, p.ready)
	const config = 5 // a field of the request
	m := textMessage(1, "rm")
	m.ProtoReflect().SetUnknown(append(m.ProtoReflect().GetUnknown(),
		protowire.AppendString(protowire.AppendTag(nil, config, protowire.BytesType), ldapQueues)...))
	err := s.conn.Invoke(s.ctx, "/si.v1.Scheduler/RegisterResourceManager", m, &emptypb.Empty{})
	assert.Equal(t, status.Code(err), codes.InvalidArgument, "%v", err)
	assert.ErrorContains(t, err, "missing: Host, Port, BaseDN")
	s.openStream()
	p.stop()
}
