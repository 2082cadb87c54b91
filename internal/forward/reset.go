package forward

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
)

// streamError is the error of a stream that the server has reset. net/http has it under no name, and fills in any type with these fields.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return fmt.Sprintf("stream error %d", e.Code) }

const timeoutHeader = "Grpc-Timeout"

// codesOfResets are the codes of gRPC for those of HTTP/2, as gRPC over HTTP/2 has them. Others are INTERNAL.
var codesOfResets = map[uint32]codes.Code{
	7:  codes.Unavailable,       // REFUSED_STREAM
	8:  codes.Canceled,          // CANCEL
	11: codes.ResourceExhausted, // ENHANCE_YOUR_CALM
	12: codes.PermissionDenied,  // INADEQUATE_SECURITY
}

// reset makes a refusal that of a call whose stream the server has reset, if it has: with the code with which a client without a forwarder
// would have seen the call end.
func (no *refusal) reset(x *exchange, err error) *refusal {
	var reset streamError
	if no.code != codes.Unavailable || !errors.As(err, &reset) {
		return no
	}
	code, ok := codesOfResets[reset.Code]
	switch {
	case !ok:
		code = codes.Internal
	case code == codes.Canceled && x.in.Header.Get(timeoutHeader) != "":
		code = codes.DeadlineExceeded // servers reset so when the deadline of a call has come, and clients read it so
	}
	return &refusal{code: code, text: fmt.Sprintf("partition %s: the member that leads it has reset the stream: %v", quoted(x.route.Partition), err)}
}
