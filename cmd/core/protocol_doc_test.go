package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"google.golang.org/grpc"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"gotest.tools/v3/assert"
)

// grpcurlLine is a command of docs/PROTOCOL.md: its data, "list", what is described, and the service and method.
var grpcurlLine = regexp.MustCompile(`(?m)^grpcurl -plaintext(?: -d '(.*)')? 127\.0\.0\.1:3333 (?:(list)|describe ` +
	`(\S+)|(\S+)/(\S+))$`)

// What docs/PROTOCOL.md does with grpcurl is done with the same services: reflection, and the methods that it calls.
func TestProtocolDoc_GrpcurlLinesWork(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "PROTOCOL.md"))
	assert.NilError(t, err)
	p, s := startServing(t, buildProgram(t), "--debug")
	lines := grpcurlLine.FindAllStringSubmatch(string(doc), -1)
	assert.Equal(t, len(lines), len(regexp.MustCompile(`(?m)^grpcurl`).FindAllString(string(doc), -1)),
		"a line has another form")
	var listed, described, called int
	for _, line := range lines {
		t.Log(line[0])
		switch data, symbol, service, method := line[1], line[3], line[4], line[5]; {
		case line[2] == "list":
			listed++
			for _, name := range []string{"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "si.v1.Scheduler",
				"canopy.v1.Hints"} {
				assert.Assert(t, s.services()[name], name)
			}
		case symbol != "":
			described++
			r := s.reflect(&reflectionpb.ServerReflectionRequest{
				MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol},
			})
			assert.Assert(t, len(r.GetFileDescriptorResponse().GetFileDescriptorProto()) > 0, "%v", r)
		default:
			called++
			assert.Assert(t, s.services()[service], service)
			s.callByName(protoreflect.FullName(service), protoreflect.Name(method), data)
		}
	}
	assert.Assert(t, listed > 0 && described > 1 && called > 3, "%d, %d, %d", listed, described, called)
	p.stop()
}

// reflect asks the reflection service.
func (s *runningService) reflect(m *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
	s.t.Helper()
	stream, err := reflectionpb.NewServerReflectionClient(s.conn).ServerReflectionInfo(s.ctx)
	assert.NilError(s.t, err)
	assert.NilError(s.t, stream.Send(m))
	r, err := stream.Recv()
	assert.NilError(s.t, err)
	assert.NilError(s.t, stream.CloseSend())
	_, err = stream.Recv()
	assert.Equal(s.t, err, io.EOF)
	return r
}

// services are the names that the reflection service lists.
func (s *runningService) services() map[string]bool {
	names := map[string]bool{}
	for _, x := range s.reflect(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{},
	}).GetListServicesResponse().GetService() {
		names[x.Name] = true
	}
	return names
}

// callByName sends one message and reads what comes until the end, which must be a success. A stream to the client
// alone has no end: it must begin.
func (s *runningService) callByName(service protoreflect.FullName, method protoreflect.Name, data string) {
	s.t.Helper()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(service)
	assert.NilError(s.t, err)
	of := d.(protoreflect.ServiceDescriptor).Methods().ByName(method)
	assert.Assert(s.t, of != nil, method)
	request := dynamicpb.NewMessage(of.Input())
	if data != "" {
		assert.NilError(s.t, protojson.Unmarshal([]byte(data), request))
	}
	stream, err := s.conn.NewStream(s.ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
		"/"+string(service)+"/"+string(method))
	assert.NilError(s.t, err)
	assert.NilError(s.t, stream.SendMsg(request))
	assert.NilError(s.t, stream.CloseSend())
	if of.IsStreamingServer() && !of.IsStreamingClient() {
		assert.NilError(s.t, stream.RecvMsg(dynamicpb.NewMessage(of.Output())))
		return
	}
	for err == nil {
		err = stream.RecvMsg(dynamicpb.NewMessage(of.Output()))
	}
	assert.Assert(s.t, errors.Is(err, io.EOF), "%v", err)
}
