package canopy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/canopy-scheduler/canopy/internal/server/auth"
	"github.com/canopy-scheduler/canopy/internal/server/configwatch"
	"github.com/canopy-scheduler/canopy/internal/server/httpserver"
	"github.com/canopy-scheduler/canopy/internal/server/usergroup"
	"github.com/canopy-scheduler/canopy/pkg/metrics"
)

// Security says which clients may use the listeners, and how their connections are encrypted. With the zero value there
// is neither authentication nor encryption: every client that reaches a listener may do what that serves. The calls of
// Server.Scheduler are those of the program itself, and are not concerned.
//
// The files are read again when they change. A content that cannot be used is logged, and what was in force stays.
type Security struct {
	// CertFile and KeyFile are PEM files with the certificate of the listeners, with those of its intermediate
	// authorities, and its private key. With them, all listeners of HOST:PORT speak TLS, 1.2 or later.
	CertFile, KeyFile string
	// ClientCAFile is a PEM file with the authorities of client certificates. A client with such a certificate needs no
	// token. Without TokensFile it may read, and register as a resource manager that its certificate names.
	ClientCAFile string
	// TokensFile is the file of credentials (docs/SECURITY.md): tokens by their hashes and certificates by their names,
	// each with a role. With it, only these are accepted.
	TokensFile string
	// AnonymousRead: REST needs no credentials for reading.
	AnonymousRead bool
	// AnonymousMetrics: metrics need no credentials.
	AnonymousMetrics bool
}

// maxPEMBytes bounds the files of certificates and keys.
const maxPEMBytes = 1 << 20

// authenticates reports whether clients need credentials.
func (s *Security) authenticates() bool { return s.TokensFile != "" || s.ClientCAFile != "" }

// isSecure reports whether the listeners have TLS and authentication.
func (s *Security) isSecure() bool { return s.CertFile != "" && s.authenticates() }

// check reports settings that contradict each other.
func (s *Security) check(wrong func(field, format string, args ...any)) {
	switch {
	case s.CertFile == "" && s.KeyFile != "":
		wrong("Security.KeyFile", "the file of the certificate is missing")
	case s.CertFile != "" && s.KeyFile == "":
		wrong("Security.CertFile", "the file of the private key is missing")
	case s.ClientCAFile != "" && s.CertFile == "":
		wrong("Security.ClientCAFile", "client certificates need TLS: the certificate of the listeners is missing")
	}
	if !s.authenticates() && s.AnonymousRead {
		wrong("Security.AnonymousRead", "no credentials are required, so there is nothing to open")
	}
	if !s.authenticates() && s.AnonymousMetrics {
		wrong("Security.AnonymousMetrics", "no credentials are required, so there is nothing to open")
	}
}

// security is the state of Security of a Server.
type security struct {
	keys  *auth.KeyPair       // nil: no TLS
	auth  *auth.Authenticator // nil: no authentication
	known map[string][]byte   // the contents of the files that are in force
}

// pemFiles are the contents of CertFile, KeyFile and ClientCAFile.
type pemFiles struct{ cert, key, clientCA []byte }

// loadSecurity reads the files. Its errors name the options.
func (o *Options) loadSecurity() (*security, error) {
	s, out := &o.Security, &security{known: map[string][]byte{}}
	secrets, _ := o.userOptions()
	o.warnOfOpenFiles(s.KeyFile, s.TokensFile, filepath.Join(secrets, usergroup.BindPasswordFile))
	if s.CertFile != "" {
		files, err := o.readPEM(out.known)
		if err != nil {
			return nil, err
		}
		if out.keys, err = auth.NewKeyPair(files.cert, files.key, files.clientCA); err != nil {
			return nil, o.invalid("Security.CertFile", err)
		}
		warnOfExpiry(cmp.Or(o.Log, zap.NewNop()), out.keys, o.now())
	}
	if !s.authenticates() {
		return out, nil
	}
	opt := auth.Options{AnonymousRead: s.AnonymousRead, AnonymousMetrics: s.AnonymousMetrics}
	if s.TokensFile != "" {
		text, err := configwatch.Read(s.TokensFile, auth.MaxFileBytes)
		if err != nil {
			return nil, o.invalid("Security.TokensFile", err)
		}
		if opt.Credentials, err = auth.ParseCredentials(text); err != nil {
			return nil, o.invalid("Security.TokensFile", fmt.Errorf("%s: %w", s.TokensFile, err))
		}
		out.known[s.TokensFile] = text
	}
	out.auth = auth.New(opt)
	return out, nil
}

// warnOfOpenFiles warns of files with secrets that others can read, or anybody but their owner can change (SEC-16).
// Their group may read them: a mounted Secret of Kubernetes has the group of a process that is not root. Files that
// cannot be found are left out.
func (o *Options) warnOfOpenFiles(files ...string) {
	log := cmp.Or(o.Log, zap.NewNop()).Named(securityLogger)
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode()&0o026 != 0 {
			log.Warn("other users can read or change a file with secrets", zap.String("file", file),
				zap.Stringer("mode", info.Mode().Perm()))
		}
	}
}

// readPEM reads the files of certificates, and notes their contents in known.
func (o *Options) readPEM(known map[string][]byte) (files pemFiles, err error) {
	s := &o.Security
	var wrong []error
	for _, x := range []struct {
		field, file string
		to          *[]byte
	}{{"CertFile", s.CertFile, &files.cert}, {"KeyFile", s.KeyFile, &files.key},
		{"ClientCAFile", s.ClientCAFile, &files.clientCA}} {
		if x.file == "" {
			continue
		}
		text, err := configwatch.Read(x.file, maxPEMBytes)
		switch {
		case err != nil:
			wrong = append(wrong, o.invalid("Security."+x.field, err))
		case len(text) > maxPEMBytes:
			wrong = append(wrong, o.invalid("Security."+x.field, fmt.Errorf("%s has more than %d bytes", x.file, maxPEMBytes)))
		}
		*x.to, known[x.file] = text, text
	}
	if files.clientCA != nil {
		if _, err := auth.ParseAuthorities(files.clientCA); err != nil {
			wrong = append(wrong, o.invalid("Security.ClientCAFile", fmt.Errorf("%s: %w", s.ClientCAFile, err)))
		}
	}
	return files, errors.Join(wrong...)
}

func (o *Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// warnOfExpiry warns of a certificate that no client accepts.
func warnOfExpiry(log *zap.Logger, keys *auth.KeyPair, now time.Time) {
	if end := keys.Expires(); end.Before(now) {
		log.Warn("the certificate of the listeners has expired", zap.Time("expired", end))
	}
}

// watch puts new contents of the files in force until ctx ends (SEC-2, SEC-9). Each file has a watch of its own; the
// files of certificates are read together, because they belong together.
func (s *security) watch(ctx context.Context, watching *sync.WaitGroup, opt *Options, log *zap.Logger) {
	watch := func(file string, changed func(text []byte)) {
		if file == "" {
			return
		}
		options := configwatch.Options{MaxBytes: maxPEMBytes, Log: log}
		watching.Go(func() {
			configwatch.Watch(ctx, file, s.known[file], options, func(text []byte) bool {
				changed(text)
				return true // a content that is refused now is refused again
			})
		})
	}
	for _, file := range []string{opt.Security.CertFile, opt.Security.KeyFile, opt.Security.ClientCAFile} {
		watch(file, func([]byte) { s.reloadKeys(opt, log, file) })
	}
	watch(opt.Security.TokensFile, func(text []byte) { s.reloadTokens(opt, log, text) })
}

// reloadKeys puts the pair and the authorities in their files in force.
func (s *security) reloadKeys(opt *Options, log *zap.Logger, changed string) {
	files, err := opt.readPEM(map[string][]byte{})
	if err == nil {
		err = s.keys.Set(files.cert, files.key, files.clientCA)
	}
	if err != nil {
		log.Error("the files of the certificate cannot be used: what was in force stays", zap.String("file", changed),
			zap.Error(err))
		return
	}
	log.Info("new certificates are in force", zap.String("file", changed), zap.Time("expires", s.keys.Expires()))
	warnOfExpiry(log, s.keys, opt.now())
}

// reloadTokens puts a file of credentials in force.
func (s *security) reloadTokens(opt *Options, log *zap.Logger, text []byte) {
	c, err := auth.ParseCredentials(text)
	if err != nil {
		log.Error("the file of credentials cannot be used: what was in force stays",
			zap.String("file", opt.Security.TokensFile), zap.Error(err))
		return
	}
	s.auth.SetCredentials(c)
	log.Info("new credentials are in force", zap.String("file", opt.Security.TokensFile), zap.Int("entries", c.Len()))
}

// tlsConfig is the TLS of a listener; nil: it has none.
func (s *security) tlsConfig(protocols ...string) *tls.Config {
	if s.keys == nil {
		return nil
	}
	return s.keys.Config(protocols...)
}

// httpTLS is the TLS of an HTTP listener. A Unix socket has none.
func (s *security) httpTLS(on net.Listener) *tls.Config {
	if on != nil && on.Addr().Network() == "unix" {
		return nil
	}
	return s.tlsConfig(httpserver.Protocols...)
}

// counts are the metrics of access.
func (s *security) counts() metrics.Security {
	out := metrics.Security{Refused: s.auth.Counts().Refused()}
	if s.keys != nil {
		out.CertificateExpires = s.keys.Expires()
	}
	return out
}
